/** What is refused when a route is set up, before any request comes: a safety option must not fail in silence. */

import assert from 'node:assert/strict';
import { errorCode } from 'samekey/internals/core/errors';
import type { AddTest } from './kit.ts';

const scope = (): string[] => ['acme'];
const GOOD = { policy: 'standard', scope };

const REFUSED: Readonly<Record<string, unknown>> = {
  'no options': undefined,
  'no policy': { scope },
  'no scope': { policy: 'standard' },
  'a policy nobody knows': { ...GOOD, policy: 'strict' },
  'a policy by the name of a property every object has': { ...GOOD, policy: 'constructor' },
  'a scope that is the same for all': { ...GOOD, scope: ['acme'] },
  'an option nobody knows': { ...GOOD, retention: 3_600_000 },
  'an option that is spelt another way': { ...GOOD, waitMaxMS: 1_000 },
  'a safe method': { ...GOOD, methods: ['POST', 'GET'] },
  'no method at all': { ...GOOD, methods: [] },
  'methods as a text': { ...GOOD, methods: 'POST' },
  'a method that is no token': { ...GOOD, methods: ['POST '] },
  'a header without a name': { ...GOOD, header: '' },
  'a header name with a space': { ...GOOD, header: 'Idempotency Key' },
  'an empty operation': { ...GOOD, operation: '' },
  'former names as a text': { ...GOOD, formerly: 'POST /v1/things' },
  'required as a text': { ...GOOD, required: 'no' },
  'storeSetCookie as a text': { ...GOOD, storeSetCookie: 'no' },
  'a negative size': { ...GOOD, requestSizeMaxBytes: -1 },
  'a size that is no number': { ...GOOD, responseSizeMaxBytes: '1mb' },
  'a time no timer can wait': { ...GOOD, bufferTimeMaxMs: 2 ** 31 },
  'an endless time': { ...GOOD, attemptTimeMaxMs: Number.POSITIVE_INFINITY },
  'a profile nobody knows': { ...GOOD, profile: 'adyen' },
  'a key mode nobody knows': { ...GOOD, key: { mode: 'loose' } },
  'a fingerprint header that is none': { ...GOOD, fingerprint: { headers: ['X Y'] } },
};

export function optionTests(test: AddTest): void {
  for (const [what, options] of Object.entries(REFUSED)) {
    test(`${what} is refused at start`, async (t) => {
      const { samekey } = await t.start();
      assert.throws(
        () => t.harness.protect(samekey, options),
        (error) => errorCode(error) === 'ERR_SAMEKEY_OPTIONS',
      );
    });
  }

  test('options that can work are taken', async (t) => {
    const { samekey } = await t.start();
    assert.doesNotThrow(() => t.harness.protect(samekey, GOOD));
    assert.doesNotThrow(() =>
      t.harness.protect(samekey, { ...GOOD, methods: ['put', 'PURGE'], profile: 'stripe' }),
    );
  });

  test('what is no Samekey instance is refused at start', async (t) => {
    for (const other of [undefined, null, {}, 'samekey']) {
      assert.throws(
        () => t.harness.protect(other as never, GOOD),
        (error) => errorCode(error) === 'ERR_SAMEKEY_OPTIONS',
      );
    }
  });
}
