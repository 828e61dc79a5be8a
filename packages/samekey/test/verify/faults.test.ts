/** Verify names the fault of each broken server, and nothing else; and finds none in the same server without a fault. */

import { describe, expect, it } from 'vitest';
import { type VerifyOptions, type VerifyReport, verify } from '../../src/verify/index.ts';
import { FAULTS, type Fault, RETENTION_MS, Service } from './server.ts';

/** The scenarios that a fault breaks: its own, and those which cannot hold because of it. */
const BREAKS: Readonly<Record<Fault, readonly string[]>> = {
  'no record': [],
  'no fingerprint': ['other-body', 'other-query', 'other-path', 'other-method'],
  'check then act': ['race-pair', 'race-many', 'race-other-body', 'hang-up'],
  'answered by a second run': ['race-pair', 'race-many', 'hang-up'],
  'same body, same operation': ['two-keys', 'two-tenants'],
  'one scope for all': ['two-tenants'],
  'scoped by credential': ['rotated-credential'],
  'taken for another tenant': ['two-tenants'],
  'kept 500': ['server-error'],
  'runs a refusal again': ['final-refusal'],
  'loses headers': ['same-headers'],
  'loses Content-Type': ['same-headers'],
  'serialises anew': ['same-answer'],
  'another status': ['same-answer'],
  'body for an empty answer': ['same-answer'],
  'no marker': ['replay-marker'],
  'always marked': ['replay-marker'],
  'key optional': ['key-missing'],
  'empty key is a key': ['key-empty'],
  'trims keys': ['key-spaces'],
  'folds case': ['key-case'],
  'cuts keys': ['key-long'],
  'bare only': ['key-quoted'],
  'quotes are part of the key': ['key-forms', 'key-malformed'],
  'opens quotes': ['key-malformed'],
  'joins lines': ['key-twice'],
  'query ignored': ['other-query'],
  'path ignored': ['other-path'],
  'method ignored': ['other-method'],
  'compares bytes': ['reordered-json'],
  'rounds numbers': ['exact-numbers'],
  'conflict for a mismatch': ['other-body-status'],
  'mismatch rebinds': ['other-body-changes-nothing'],
  'mismatch forgets': ['other-body-changes-nothing'],
  'refuses while running': ['race-status'],
  'busy without a time': ['retry-after'],
  'busy for a century': ['retry-after'],
  'busy hides a mismatch': ['race-other-body'],
  'cancels on hang-up': ['hang-up'],
  'never ends': ['hang-up'],
  'forgets early': ['expiry'],
  'never forgets': ['expiry'],
  'GET kept': ['get-untouched'],
  'GET wants no key': ['get-untouched'],
  'fails open': ['store-down'],
  'hangs without store': ['store-down'],
  'text for errors': ['error-documents'],
  'wrong problem': ['error-documents'],
  'no links': ['specification'],
};

let bodies = 0;

async function judged(fault: Fault | null, change: Partial<VerifyOptions> = {}): Promise<VerifyReport> {
  const service = await Service.start(fault);
  try {
    return await verify({
      url: `${service.origin}/orders`,
      // Another one for each intent, as where a service takes equal bodies for one operation.
      body: () => `{"item":"lamp ${bodies++}","amountCents":1200}`,
      headers: { Authorization: 'shop-a.one' },
      tenantB: { Authorization: 'shop-b.one' },
      rotated: { Authorization: 'shop-a.two' },
      count: () => service.executions,
      hold: { body: () => `{"item":"lamp ${bodies++}","amountCents":1200,"holdMs":150}` },
      otherUrl: `${service.origin}/refunds`,
      refusedBody: '{"refuse":true}',
      failing: { body: '{"fail":true}', expect: 'retried' },
      expiresMs: RETENTION_MS,
      store: {
        down: () => void (service.isStoreDown = true),
        up: () => void (service.isStoreDown = false),
      },
      requestTimeMaxMs: 1_500,
      rateMax: 1_000,
      ...change,
    });
  } finally {
    await service.close();
  }
}

function faultsOf(report: VerifyReport): string[] {
  return report.findings.filter(({ verdict }) => verdict === 'fault').map(({ scenario }) => scenario);
}

function unjudged(report: VerifyReport): string[] {
  return report.findings
    .filter(({ verdict }) => verdict === 'not-judged')
    .map(({ scenario, found }) => `${scenario}: ${found}`);
}

describe('verify', () => {
  it('judges every scenario of a service that is safe to retry, and finds no fault', async () => {
    const report = await judged(null);
    expect(unjudged(report)).toEqual([]);
    expect(faultsOf(report)).toEqual([]);
    expect(report.isClean).toBe(true);
  });

  const single = (Object.keys(FAULTS) as Fault[]).filter((fault) => fault !== 'no record');
  describe.concurrent('names the one fault of a server, and no other', () => {
    it.each(single)('%s', { timeout: 60_000 }, async (fault) => {
      const report = await judged(fault);
      expect(faultsOf(report).toSorted()).toEqual([...BREAKS[fault]].toSorted());
      const hasMust = report.findings.some(({ level, verdict }) => level === 'MUST' && verdict === 'fault');
      expect(report.isClean).toBe(!hasMust);
    });
  });

  it('says of a service without any record that everything is charged again', async () => {
    const found = faultsOf(await judged('no record'));
    expect(found).toEqual(
      expect.arrayContaining(['runs-once', 'same-answer', 'race-pair', 'race-many', 'hang-up']),
    );
    expect(found).not.toContain('two-tenants');
  });
});
