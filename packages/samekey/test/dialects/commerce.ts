/** Protocols by which agents buy. */

import { acp } from '../../src/dialects/index.ts';
import type { Spoken } from './spoken.ts';

const HOUR_MS = 60 * 60 * 1_000;
const key = (name: string): { readonly 'Idempotency-Key': string } => ({ 'Idempotency-Key': name });
const KEY = '550e8400-e29b-41d4-a716-446655440000';

const ofAcp: Spoken = {
  title: 'ACP',
  exported: 'acp',
  dialect: acp,
  pages: [
    {
      url: 'https://github.com/agentic-commerce-protocol/agentic-commerce-protocol/blob/main/rfcs/rfc.agentic_checkout.md',
      day: '2026-11-30',
    },
    {
      url: 'https://github.com/agentic-commerce-protocol/agentic-commerce-protocol/blob/main/spec/2026-04-17/openapi/openapi.agentic_checkout.yaml',
      day: '2026-11-30',
    },
  ],
  facts: {
    key: 'in the header `Idempotency-Key`, an opaque text of up to 255 characters; UUID v4 is recommended (§6.1)',
    required: 'yes, on every POST (§6.1)',
    uniqueFor: 'the authenticated identity and the path of the endpoint (§6.1)',
    compared:
      'the JSON body by value: order of members does not count, `null` and absent differ, `1.0` and `1` are equal (§6.2)',
    kept: 'at least 24 hours (§6.6)',
    '1': '400 `idempotency_key_required` (§6.4)',
    '5': 'a new request, no error (§6.6)',
    '6': '422 `idempotency_conflict` (§6.4)',
    '7': 'the first answer with its status; `Idempotent-Replayed: true` should be there (§6.3), the key comes back',
    '10': '409 `idempotency_in_flight` with `Retry-After` (§6.4)',
    '12': 'a 5xx is never stored, and a retry is processed as a fresh request (§6.5)',
  },
  stricter: [
    'A 5xx is not stored, and a retry runs, only where its work is proven to be undone: a transaction that rolled back, or `attempt.notExecuted()`. After any other the outcome is unknown (409).',
    'Two sessions of one endpoint share the key: at another session it is refused (422), not taken for another key.',
  ],
  transcript: [
    {
      says: 'without a key it must be rejected: 400',
      send: { path: '/checkout_sessions' },
      expect: {
        status: 400,
        ran: false,
        body: {
          type: 'invalid_request',
          code: 'idempotency_key_required',
          message: 'Idempotency-Key header is required on all POST requests',
        },
      },
    },
    {
      says: 'a session is created; the key is echoed',
      send: { path: '/checkout_sessions', headers: key(KEY), body: '{"items":[1],"note":"x"}' },
      meanwhile: {
        says: 'while it is in flight: 409 with Retry-After',
        send: { path: '/checkout_sessions', headers: key(KEY), body: '{"items":[1],"note":"x"}' },
        expect: {
          status: 409,
          ran: false,
          headers: { 'retry-after': '1', 'idempotency-key': KEY },
          body: { type: 'invalid_request', code: 'idempotency_in_flight' },
        },
      },
      expect: { status: 201, ran: true, headers: { 'idempotency-key': KEY }, body: { run: 1 } },
    },
    {
      says: 'another order of members is the same body: the first answer, marked',
      send: { path: '/checkout_sessions', headers: key(KEY), body: '{"note":"x", "items":[1.0]}' },
      expect: { status: 201, ran: false, headers: { 'idempotent-replayed': 'true' }, body: { run: 1 } },
    },
    {
      says: 'null is not absent: 422',
      send: { path: '/checkout_sessions', headers: key(KEY), body: '{"items":[1],"note":"x","coupon":null}' },
      expect: { status: 422, ran: false, body: { type: 'invalid_request', code: 'idempotency_conflict' } },
    },
    {
      says: 'the order of a list counts',
      send: { path: '/checkout_sessions', headers: key('list'), body: '[1,2]' },
      expect: { status: 201, ran: true },
    },
    {
      says: 'the order of a list counts',
      send: { path: '/checkout_sessions', headers: key('list'), body: '[2,1]' },
      expect: { status: 422, ran: false },
    },
    {
      says: 'the same key at another endpoint is another one',
      send: { path: '/checkout_sessions/1/complete', headers: key(KEY) },
      expect: { status: 201, ran: true },
    },
    {
      says: 'a 5xx is not stored',
      send: { path: '/checkout_sessions', headers: key('5xx') },
      handler: { status: 500, body: '{"type":"processing_error"}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'its retry must be processed afresh: not where the work may have been done',
      send: { path: '/checkout_sessions', headers: key('5xx') },
      expect: { status: 409, ran: false, body: { code: 'outcome_unknown' } },
    },
    {
      says: 'kept for at least 24 hours',
      after: 24 * HOUR_MS - 1_000,
      send: { path: '/checkout_sessions', headers: key(KEY), body: '{"items":[1],"note":"x"}' },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'after that it is a new request',
      after: 1_000,
      send: { path: '/checkout_sessions', headers: key(KEY), body: '{"items":[1],"note":"x"}' },
      expect: { status: 201, ran: true },
    },
  ],
};

export const COMMERCE: readonly Spoken[] = [ofAcp];
