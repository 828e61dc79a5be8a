import { createHash, createHmac, randomBytes, randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashCaller, hashKey, redactRecord } from '../../src/store/redact.ts';
import type { SamekeyRecord } from '../../src/core/record.ts';
import { encodeScope } from '../../src/core/scope.ts';
import { hmacSha256Bytes, sha256Bytes } from '../../src/fingerprint/sha256.ts';

const SECRET = randomBytes(16);
const MARK = 'marker-of-the-customer';
const encoder = new TextEncoder();

const record: SamekeyRecord = {
  scope: encodeScope([MARK, 'user-7'], 'POST /payments'),
  key: `key-${MARK}`,
  operation: 'POST /payments',
  state: 'completed',
  attempt: 1,
  claimId: 'c1',
  lockedUntil: 1,
  claimTtlMs: 30_000,
  renewals: 0,
  whenClaimEnds: 'unknown',
  fingerprint: { label: 'sk1.abc', digest: MARK },
  proof: null,
  reason: null,
  response: {
    status: 201,
    headers: [['X-Customer', MARK]],
    body: encoder.encode(MARK),
    trailers: [['X-Sum', MARK]],
  },
  formatVersion: 1,
  sealKeyId: null,
  reconcileAfter: null,
  inquiries: 0,
  createdAt: 1,
  finishedAt: 2,
  expiresAt: 3,
  replayMinMs: 0,
  attemptMax: 10,
  tombstoneMs: 0,
  recoveryPoint: 'reserve',
  steps: JSON.stringify({ v: 1, steps: [{ kind: 'phase', name: 'reserve', result: MARK }] }),
  intentAt: null,
  input: encoder.encode(MARK),
};

test('a redacted record carries nothing of key, caller, fingerprint, answer, steps and input', () => {
  const redacted = redactRecord(record);
  expect(JSON.stringify(redacted)).not.toContain(MARK);
  expect(JSON.stringify(redacted)).not.toContain('user-7');
  expect(redacted).toMatchObject({
    operation: 'POST /payments',
    state: 'completed',
    keyHash: hashKey(record),
    fingerprintLabel: 'sk1.abc',
    response: { status: 201, headerNames: ['X-Customer'], bodyBytes: MARK.length },
    inputBytes: MARK.length,
    recoveryPoint: 'reserve',
  });
});

test('an id hashes to the same 16 characters in every process and release', () => {
  expect(hashKey({ scope: 'a|op', key: 'k' })).toBe('_B4SgkG59-WlbwpE');
});

test('ids that differ only in where the scope ends hash differently', () => {
  expect(hashKey({ scope: 'ab', key: 'c' })).not.toBe(hashKey({ scope: 'a', key: 'bc' }));
});

test('a secret changes every hash, and another secret changes it again', () => {
  const hashes = [undefined, SECRET, randomBytes(16)].map((secret) => hashKey(record, secret));
  expect(new Set(hashes).size).toBe(3);
  expect(hashKey(record, SECRET)).toBe(hashes[1]);
});

test('all keys of one caller share the hash of the caller, whatever the operation', () => {
  const other = encodeScope([MARK, 'user-7'], 'refund|all');
  expect(hashCaller(other)).toBe(hashCaller(record.scope));
  expect(hashCaller(encodeScope([MARK, 'user-8'], 'POST /payments'))).not.toBe(hashCaller(record.scope));
});

test('a short secret is refused', () => {
  expect(() => hashKey(record, randomBytes(15))).toThrow('15 bytes');
});

test('digests of every length up to three blocks equal those of the platform', () => {
  for (let length = 0; length < 200; length += 1) {
    const bytes = randomBytes(length);
    const secret = randomBytes(randomInt(0, 130));
    const expected = createHash('sha256').update(bytes).digest('hex');
    expect(Buffer.from(sha256Bytes(bytes)).toString('hex'), bytes.toString('hex')).toBe(expected);
    const keyed = createHmac('sha256', secret).update(bytes).digest('hex');
    expect(Buffer.from(hmacSha256Bytes(secret, bytes)).toString('hex'), bytes.toString('hex')).toBe(keyed);
  }
});
