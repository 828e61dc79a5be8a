/** Policies of one's own: which are refused at start, and what of the table no policy decides. */

import { describe, expect, it } from 'vitest';
import type { Ending } from '../../src/engine/attempt.ts';
import { conclude, type OpenEnding } from '../../src/engine/ending/conclude.ts';
import { resolveSettings } from '../../src/core/settings.ts';
import { response } from '../../src/core/response.ts';
import { createSamekey, POLICIES, type Policy, type Verdict } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

function policyWith(change: Partial<Record<keyof Policy['verdicts'], Verdict>>): Policy {
  return { name: 'ours', verdicts: { ...POLICIES.standard.verdicts, ...change } };
}

describe('a policy of one’s own', () => {
  // F68: 408, 502 and 504 are never proof that nothing happened.
  it.each(['requestTimeout', 'gatewayError'] as const)(
    'that runs again after %s is refused at start',
    (ending) => {
      const refused = () =>
        createSamekey({ store: memoryStore(), policy: policyWith({ [ending]: 'retryable' }) });
      expect(refused).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }));
      expect(refused).toThrow(`${ending} is retryable: 408, 502 and 504`);
      for (const verdict of ['unknown', 'failed'] as const)
        createSamekey({ store: memoryStore(), policy: policyWith({ [ending]: verdict }) });
    },
  );

  it('may run again after its own throws and 5xx: it says in words that nothing happened', () => {
    createSamekey({
      store: memoryStore(),
      policy: policyWith({ threw: 'retryable', serverError: 'retryable' }),
    });
  });

  it.each(['standard', 'payments', 'stripe'] as const)('"%s" keeps to it, too', (name) => {
    const { requestTimeout, gatewayError } = POLICIES[name].verdicts;
    expect([requestTimeout, gatewayError]).not.toContain('retryable');
  });
});

const answered = (status: number, more: Partial<Extract<Ending, { kind: 'answered' }>> = {}): OpenEnding => ({
  kind: 'answered',
  response: response(status),
  ...more,
});

describe('what an attempt becomes', () => {
  const settings = resolveSettings({ policy: 'standard' }, {});
  const told = (ending: OpenEnding) =>
    conclude({ declared: null, saidUnknown: null, settings }, ending, null);
  it.each([408, 502, 504])('after %d is unknown, unless its transaction was rolled back', (status) => {
    expect(told(answered(status))).toMatchObject({ to: 'unknown', proof: null, reason: `status-${status}` });
    expect(told(answered(status, { rolledBack: true }))).toMatchObject({
      to: 'retryable',
      proof: 'rolledBack',
    });
  });

  // F66
  it('after an answer that cannot be stored is never proof, whatever else is the case', () => {
    const lost = { response: { status: 201, headers: [], body: null }, error: new Error('no JSON') };
    for (const policy of ['standard', 'payments', 'stripe'] as const) {
      const own = resolveSettings({ policy }, {});
      for (const rolledBack of [false, true]) {
        const ending: OpenEnding = { kind: 'answered', ...lost, rolledBack };
        expect(conclude({ declared: null, saidUnknown: null, settings: own }, ending, null)).toMatchObject({
          to: 'completed',
          proof: null,
          reason: 'answer-not-storable',
          response: { status: 201, body: null },
        });
      }
    }
  });
});
