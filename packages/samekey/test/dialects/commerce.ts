/** Protocols by which agents buy. */

import { acp, adcp, ucp, x402 } from '../../src/dialects/index.ts';
import { expect } from 'vitest';
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

const ofUcp: Spoken = {
  title: 'UCP',
  exported: 'ucp',
  dialect: ucp,
  pages: [
    {
      url: 'https://github.com/Universal-Commerce-Protocol/ucp/blob/main/docs/specification/shopping/checkout/rest.md',
      day: '2026-11-30',
    },
    {
      url: 'https://github.com/Universal-Commerce-Protocol/ucp/blob/main/docs/specification/signatures.md',
      day: '2026-11-30',
    },
    {
      url: 'https://github.com/Universal-Commerce-Protocol/ucp/blob/main/docs/specification/shopping/checkout/mcp.md',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'REST: in the header `Idempotency-Key`; MCP: in `meta["idempotency-key"]` of the arguments. 128 bits at least, such as a UUID v4 or 22 letters and digits',
    required:
      'operations that change state should take one; over MCP it is required to complete and to cancel a checkout',
    uniqueFor: 'a client and a kind of operation',
    compared: 'SHA-256 of the body’s bytes',
    kept: 'at least 24 hours, 48 are recommended',
    '4': '503: the request is refused',
    '6': '409 (REST), -32000 (MCP)',
    '7': 'the cached answer, without executing again',
  },
  stricter: [
    'The body is compared by value: the same JSON in other bytes is the same request, where UCP refuses it.',
    'A request without a key is refused. Say `required: false` for operations that need none.',
    'Over MCP the answer of a retry carries the id of the retry: [`samekey.run`](../guides/http.md#tools-of-an-agent) in the tool, not this dialect at its address.',
  ],
  transcript: [
    {
      says: 'a checkout is completed',
      send: { path: '/checkout-sessions/chk_1/complete', headers: key(KEY), body: '{"a":1,"b":2}' },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'a duplicate whose body matches: the cached answer',
      send: { path: '/checkout-sessions/chk_1/complete', headers: key(KEY), body: '{"a":1,"b":2}' },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'here also where its bytes differ and its values do not',
      send: { path: '/checkout-sessions/chk_1/complete', headers: key(KEY), body: '{"b":2, "a":1}' },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'another body: 409, with code and content',
      send: { path: '/checkout-sessions/chk_1/complete', headers: key(KEY), body: '{"a":1,"b":3}' },
      expect: { status: 409, ran: false, body: { code: 'key_reused', content: expect.any(String) } },
    },
    {
      says: 'a key has 128 bits at least',
      send: { path: '/checkout-sessions/chk_1/complete', headers: key('short') },
      expect: { status: 400, ran: false },
    },
    {
      says: 'another kind of operation has keys of its own',
      send: { path: '/checkout-sessions/chk_1/cancel', headers: key(KEY) },
      expect: { status: 201, ran: true },
    },
    {
      says: 'stored for 24 hours at least',
      after: 24 * HOUR_MS - 1_000,
      send: { path: '/checkout-sessions/chk_1/complete', headers: key(KEY), body: '{"a":1,"b":2}' },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
  ],
};

const task = (idempotency_key: string | undefined, beside: object = {}): object => ({
  idempotency_key,
  budget: 100,
  ...beside,
});

const ofAdcp: Spoken = {
  title: 'AdCP',
  exported: 'adcp',
  dialect: adcp,
  pages: [
    {
      url: 'https://github.com/adcontextprotocol/adcp/blob/main/docs/building/by-layer/L1/security.mdx',
      day: '2026-11-30',
    },
    {
      url: 'https://github.com/adcontextprotocol/adcp/blob/main/docs/building/operating/transport-errors.mdx',
      day: '2026-11-30',
    },
  ],
  facts: {
    key: 'in the member `idempotency_key` of the task: 16 to 255 of `A-Z a-z 0-9 _ . : -`; a UUID v4',
    required: 'yes, on every task that changes state',
    uniqueFor: 'the agent and the account; on another tool it is another request (rule 1)',
    compared:
      'the canonical JSON (RFC 8785) without `idempotency_key`, `context`, `governance_context` and the credentials of `push_notification_config`',
    kept: 'as the seller declares: 1 hour to 7 days, 24 hours are recommended; the store outlives a restart (rules 6, 7)',
    '1': '`INVALID_REQUEST`, before the cache is asked (rule 1)',
    '2': '`INVALID_REQUEST`, before the cache is asked (rule 1)',
    '5': '`IDEMPOTENCY_EXPIRED`, rather than to run again in silence (rule 6)',
    '6': '`IDEMPOTENCY_CONFLICT`, also while the first is in flight (rules 5, 9)',
    '7': 'the first answer, never refreshed, with `replayed: true` in its envelope (rules 2, 4)',
    '10': 'waits and replays, or `IDEMPOTENCY_IN_FLIGHT` with `retry_after` (rule 9)',
    '11b': '`INVALID_REQUEST`, never cached (rule 1)',
    '12': 'only success is stored: a retry runs again (rule 3); calls downstream are claimed or keyed (rule 10)',
    '13': '`RATE_LIMITED`, never cached (rule 8)',
  },
  stricter: [
    'After a 5xx or a throw a retry runs only where the work is proven to be undone; else the outcome is unknown (409).',
    '`replayed: true` is the tool’s to put into its envelope: the stored answer stays as it was.',
    'A body is compared by exact numbers, where RFC 8785 rounds them.',
    'Status codes are ours: AdCP is spoken over MCP and A2A. There [`samekey.run`](../guides/http.md#tools-of-an-agent) in the tool protects it, with this dialect’s `operation`.',
  ],
  transcript: [
    {
      says: 'no key: INVALID_REQUEST',
      send: { path: '/create_media_buy', body: task(undefined) },
      expect: { status: 400, ran: false, body: { adcp_error: { code: 'INVALID_REQUEST' } } },
    },
    {
      says: 'too short a key: INVALID_REQUEST',
      send: { path: '/create_media_buy', body: task('short') },
      expect: { status: 400, ran: false, body: { adcp_error: { code: 'INVALID_REQUEST' } } },
    },
    {
      says: 'the first call is canonical',
      send: { path: '/create_media_buy', body: task(KEY) },
      meanwhile: {
        says: 'the same while it is in flight: IDEMPOTENCY_IN_FLIGHT',
        send: { path: '/create_media_buy', body: task(KEY) },
        expect: {
          status: 409,
          ran: false,
          body: { adcp_error: { code: 'IDEMPOTENCY_IN_FLIGHT', recovery: 'transient' } },
        },
      },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'a replay; context and rotated credentials are no part of the payload',
      send: {
        path: '/create_media_buy',
        body: task(KEY, { context: { trace: 2 }, governance_context: 'newer' }),
      },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'null is not absent, and ext counts: IDEMPOTENCY_CONFLICT',
      send: { path: '/create_media_buy', body: task(KEY, { ext: null }) },
      expect: { status: 422, ran: false, body: { adcp_error: { code: 'IDEMPOTENCY_CONFLICT' } } },
    },
    {
      says: 'the same key on another tool: IDEMPOTENCY_CONFLICT',
      send: { path: '/update_media_buy', body: task(KEY) },
      expect: { status: 422, ran: false, body: { adcp_error: { code: 'IDEMPOTENCY_CONFLICT' } } },
    },
    {
      says: 'an error is not stored',
      send: { path: '/create_media_buy', body: task('a-key-of-a-failure') },
      handler: { status: 403, body: '{"adcp_error":{"code":"PERMISSION_DENIED"}}' },
      expect: { status: 403, ran: true },
    },
    {
      says: 'and its retry runs',
      send: { path: '/create_media_buy', body: task('a-key-of-a-failure') },
      expect: { status: 201, ran: true },
    },
    {
      says: 'but not where a call downstream may have been made',
      send: { path: '/create_media_buy', body: task('a-key-of-a-500-error') },
      handler: { status: 500, body: '{}' },
      expect: { status: 500, ran: true },
    },
    {
      says: 'but not where a call downstream may have been made',
      send: { path: '/create_media_buy', body: task('a-key-of-a-500-error') },
      expect: { status: 409, ran: false },
    },
    {
      says: 'after the window it is refused, not run',
      after: 24 * HOUR_MS,
      send: { path: '/create_media_buy', body: task(KEY) },
      expect: { status: 410, ran: false, body: { adcp_error: { code: 'IDEMPOTENCY_EXPIRED' } } },
    },
  ],
};

const PAYMENT_ID = 'pay_7d5d747be160e280504c099d984bcfe0';

/** The header of a payment. */
function paid(id: string | undefined, amount = '1'): { readonly 'PAYMENT-SIGNATURE': string } {
  const extensions = { 'payment-identifier': { info: { required: true, id } } };
  const payload = { x402Version: 2, payload: { amount }, extensions };
  return { 'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(payload)).toString('base64') };
}

const ofX402: Spoken = {
  title: 'x402',
  exported: 'x402',
  dialect: x402,
  pages: [
    {
      url: 'https://github.com/coinbase/x402/blob/main/specs/extensions/payment_identifier.md',
      day: '2026-11-30',
    },
    { url: 'https://github.com/coinbase/x402/blob/main/specs/transports-v2/http.md', day: '2026-11-30' },
    {
      url: 'https://github.com/coinbase/x402/blob/main/docs/extensions/payment-identifier.mdx',
      day: '2026-11-30',
    },
  ],
  open: { policy: 'payments' },
  facts: {
    key: 'in `extensions["payment-identifier"].info.id` of the payload, which is JSON in Base64 in the header `PAYMENT-SIGNATURE`: 16 to 128 letters, digits, `-` and `_`',
    required: 'as the server says in `info.required`',
    compared: 'the payload; a hash of it is advised',
    kept: 'as the server says: 5 minutes to 24 hours are usual',
    '1': '400, where it is required',
    '5': 'the payment is processed as usual',
    '6': '409',
    '7': 'the cached answer; no second payment',
    '14': 'is processed as usual',
  },
  stricter: [
    'A request without a payment has no key and would be refused: let it pass with `skip: (req) => req.headers["payment-signature"] === undefined`, so that it is told the price (402).',
    'GET passes unprotected: what is paid for is a POST.',
    'Stand in front of the middleware that settles payments, or a retry settles again.',
  ],
  transcript: [
    {
      says: 'a payment with a new id is processed',
      send: { headers: paid(PAYMENT_ID) },
      expect: { status: 201, ran: true, body: { run: 1 } },
    },
    {
      says: 'the same id and payload: the cached answer',
      send: { headers: paid(PAYMENT_ID) },
      expect: { status: 201, ran: false, body: { run: 1 } },
    },
    {
      says: 'the same id, another payload: 409',
      send: { headers: paid(PAYMENT_ID, '2') },
      expect: { status: 409, ran: false },
    },
    {
      says: 'required, and no id: 400',
      send: { headers: paid(undefined) },
      expect: { status: 400, ran: false },
    },
    {
      says: 'an id has 16 characters at least',
      send: { headers: paid('pay_1') },
      expect: { status: 400, ran: false },
    },
    {
      says: 'a header that is no payload is refused',
      send: { headers: { 'PAYMENT-SIGNATURE': 'no Base64!' } },
      expect: { status: 400, ran: false },
    },
  ],
};

export const COMMERCE: readonly Spoken[] = [ofAcp, ofUcp, ofAdcp, ofX402];
