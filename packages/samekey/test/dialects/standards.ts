/** Standards, and guidelines that many APIs follow. */

import { ietfDraft07, oasisRepeatable, zalando } from '../../src/dialects/index.ts';
import type { Spoken } from './spoken.ts';

const HOUR_MS = 60 * 60 * 1_000;
const quoted = (key: string): { readonly 'Idempotency-Key': string } => ({ 'Idempotency-Key': `"${key}"` });
const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324';

const ofIetf: Spoken = {
  title: 'IETF draft 07',
  exported: 'ietfDraft07',
  dialect: ietfDraft07,
  pages: [
    {
      url: 'https://www.ietf.org/archive/id/draft-ietf-httpapi-idempotency-key-header-07.html',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'standard' },
  facts: {
    key: 'in the header `Idempotency-Key`, a Structured Field String (§2.1); a UUID or a similar random value is recommended (§2.2)',
    required: 'as the resource documents (§2.5)',
    uniqueFor: 'the resource combines the key with attributes of the client (§5)',
    compared: 'a fingerprint of the payload, whole or in part, if the resource makes one (§2.4)',
    kept: 'the resource defines and publishes it (§2.3)',
    '1': '400, with a link to the documentation (§2.7)',
    '6': '422, with a link to the documentation (§2.7)',
    '7': 'the result of the operation that was completed, success or error (§2.6)',
    '10': '409, with a link to the documentation (§2.7)',
    '14': 'is processed, and its result kept (§2.6)',
  },
  stricter: [],
  transcript: [
    {
      says: 'a key that was not seen: the request is processed',
      send: { headers: quoted(KEY) },
      meanwhile: {
        says: 'another request with it while the first runs: 409, a problem document with a link',
        send: { headers: quoted(KEY) },
        expect: {
          status: 409,
          ran: false,
          headers: { 'content-type': 'application/problem+json' },
          body: { status: 409 },
        },
      },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'after it has completed: the same result',
      send: { headers: quoted(KEY) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another payload under the key: 422',
      send: { headers: quoted(KEY), body: { amount: 11 } },
      expect: { status: 422, ran: false, body: { status: 422 } },
    },
    {
      says: 'no key where one is documented as required: 400',
      send: {},
      expect: { status: 400, ran: false },
    },
    {
      says: 'the header is a String: without its quotes it is none',
      send: { headers: { 'Idempotency-Key': KEY } },
      expect: { status: 400, ran: false },
    },
    {
      says: 'an error is a result too: it is given again',
      send: { headers: quoted('2'), body: {} },
      handler: { status: 404, body: '{"error":"gone"}' },
      expect: { status: 404, ran: true },
    },
    {
      says: 'an error is a result too: it is given again',
      send: { headers: quoted('2'), body: {} },
      expect: { status: 404, ran: false, body: { error: 'gone' } },
    },
  ],
};

const ofZalando: Spoken = {
  title: 'Zalando guidelines',
  exported: 'zalando',
  dialect: zalando,
  pages: [
    {
      url: 'https://github.com/zalando/restful-api-guidelines/blob/main/chapters/http-headers.adoc',
      day: '2026-11-30',
    },
    { url: 'https://opensource.zalando.com/restful-api-guidelines/#230', day: '2026-11-30' },
  ],
  facts: {
    key: 'in the header `Idempotency-Key`, a free identifier of the client',
    required: 'an API may support it',
    uniqueFor: 'it is specific to a client',
    compared: 'a hash of the request, optionally',
    kept: 'for a time, such as 24 hours; the API chooses it',
    '6': 'recommended: 400',
    '7': 'the answer of the first request, whether it succeeded or failed',
    '12': 'the failure was kept, and is given again',
    '14': 'is executed as usual, and its answer kept',
  },
  stricter: [
    'The request is always compared; where Zalando leaves that out, a key that is used wrongly gets a foreign answer.',
  ],
  transcript: [
    {
      says: 'not in the key cache: executed as usual',
      send: { headers: { 'Idempotency-Key': KEY } },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'in the key cache: its answer, without executing',
      send: { headers: { 'Idempotency-Key': KEY } },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another request under it: 400',
      send: { headers: { 'Idempotency-Key': KEY }, body: { amount: 11 } },
      expect: { status: 400, ran: false, headers: { 'content-type': 'application/problem+json' } },
    },
    {
      says: 'kept regardless of whether it succeeded or failed',
      send: { headers: { 'Idempotency-Key': 'failed' } },
      handler: { status: 500, body: '{"error":1}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'kept regardless of whether it succeeded or failed',
      send: { headers: { 'Idempotency-Key': 'failed' } },
      expect: { status: 500, ran: false, body: { error: 1 } },
    },
    {
      says: 'kept for 24 hours: shortly before, it is there',
      after: 24 * HOUR_MS - 1_000,
      send: { headers: { 'Idempotency-Key': KEY } },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'not in the key cache any more: executed as usual',
      after: 1_000,
      send: { headers: { 'Idempotency-Key': KEY } },
      expect: { status: 201, ran: true },
    },
  ],
};

const MINUTE_MS = 60 * 1_000;
const NOW = Date.now();

/** The lines of a request that was first sent so many milliseconds ago. */
function repeatable(
  id: string,
  agoMs: number,
): { readonly 'Repeatability-Request-ID': string; readonly 'Repeatability-First-Sent': string } {
  return {
    'Repeatability-Request-ID': id,
    'Repeatability-First-Sent': new Date(NOW - agoMs).toUTCString(),
  };
}

const ACCEPTED = { 'repeatability-result': 'accepted' };
const REJECTED = { 'repeatability-result': 'rejected' };

const ofOasis: Spoken = {
  title: 'OASIS Repeatable Requests, Azure',
  exported: 'oasisRepeatable',
  dialect: oasisRepeatable,
  pages: [
    {
      url: 'https://docs.oasis-open.org/odata/repeatable-requests/v1.0/repeatable-requests-v1.0.html',
      day: '2026-11-30',
    },
    { url: 'https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md', day: '2026-11-30' },
    {
      url: 'https://learn.microsoft.com/en-us/rest/api/communication/repeatable-requests',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'in the header `Repeatability-Request-ID`, unique for all time; Azure: a GUID. `Repeatability-First-Sent` stands beside it, as IMF-fixdate',
    required: 'no: both headers say that a request is repeatable',
    uniqueFor: 'all clients, or one of them with `Repeatability-Client-ID`',
    compared: 'Azure: the request',
    kept: 'for the window that is tracked: 5 minutes at least (Azure)',
    '2': 'Azure: 400, `Repeatability-Result: rejected`',
    '3': 'Azure: 412 outside of the window; a time of another form 400; both `rejected`',
    '6': 'Azure: 400, `Repeatability-Result: rejected`',
    '7': 'the answer of the first request, `Repeatability-Result: accepted`',
    '10': 'Azure (Email): 409, `Repeatability-Result: accepted`',
    '12': 'Azure (Email): a 2xx or 4xx is given again, after a 5xx the request is executed again',
    '14': 'is executed, `Repeatability-Result: accepted`',
  },
  stricter: [
    'After a 5xx a retry runs only where the work is proven to be undone, as the policy says.',
    'A request without the headers is refused. Say `required: false` to run it, unprotected.',
    'An operation that does not support them answers 501 to requests that have them (Azure): that is for routes which Samekey does not protect.',
    '`Repeatability-Client-ID` is what a client says of itself: the scope names the authenticated caller.',
  ],
  transcript: [
    {
      says: 'new, and within the window: executed, accepted',
      send: { headers: repeatable(KEY, 0) },
      meanwhile: {
        says: 'the same while it is in progress: 409, accepted',
        send: { headers: repeatable(KEY, 0) },
        expect: { status: 409, ran: false, headers: ACCEPTED },
      },
      expect: { status: 201, ran: true, headers: ACCEPTED, body: { run: 1 } },
    },
    {
      says: 'the same again: its answer, accepted',
      send: { headers: repeatable(KEY, 0) },
      expect: { status: 201, ran: false, headers: ACCEPTED, body: { run: 1 } },
    },
    {
      says: 'another request under the id: 400, rejected',
      send: { headers: repeatable(KEY, 0), body: { amount: 11 } },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
    {
      says: 'another time under the id is another request',
      send: { headers: repeatable(KEY, 2 * MINUTE_MS) },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
    {
      says: 'first sent before the window: 412, rejected, also where the id is known',
      send: { headers: repeatable(KEY, 6 * MINUTE_MS) },
      expect: { status: 412, ran: false, headers: REJECTED },
    },
    {
      says: 'first sent in the future: the clock of the client is wrong',
      send: { headers: repeatable('7d4f3b5c-95a1-4cf7-a03d-7fe25435b752', -6 * MINUTE_MS) },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
    {
      says: 'a time that is no IMF-fixdate: 400, rejected',
      send: {
        headers: { ...repeatable(KEY, 0), 'Repeatability-First-Sent': new Date(NOW).toISOString() },
      },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
    {
      says: 'an id without a time: 400, rejected',
      send: { headers: { 'Repeatability-Request-ID': KEY } },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
    {
      says: 'an id that is no GUID: 400, rejected',
      send: { headers: repeatable('key-1', 0) },
      expect: { status: 400, ran: false, headers: REJECTED },
    },
  ],
};

export const STANDARDS: readonly Spoken[] = [ofIetf, ofOasis, ofZalando];
