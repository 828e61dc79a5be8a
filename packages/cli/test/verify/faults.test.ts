/** Verify names the fault of each broken server, and nothing else; and finds none in the same server without a fault. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type VerifyOptions, type VerifyReport, verify } from '../../src/verify/index.ts';
import { FAULTS, type Fault, RETENTION_MS, Service } from './server.ts';

/** The scenarios that a fault breaks: its own, and those which cannot hold because of it. */
const BREAKS: Readonly<Record<Fault, readonly string[]>> = {
  'no record': [],
  'no fingerprint': ['other-body', 'other-query', 'other-path', 'other-method'],
  'check then act': ['race-pair', 'race-many', 'race-other-body', 'hang-up'],
  'answered by a second run': ['race-pair', 'race-many', 'hang-up'],
  'same body, same operation': ['two-keys'],
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
  // F92: bytes that differ are no answer of its own.
  'a member varies': ['same-answer', 'replay-marker'],
  'one scope for all, a member varies': ['two-tenants', 'same-answer', 'replay-marker'],
  'query ignored, a member varies': ['other-query', 'same-answer', 'replay-marker'],
  'path ignored, a member varies': ['other-path', 'same-answer', 'replay-marker'],
  'method ignored, a member varies': ['other-method', 'same-answer', 'replay-marker'],
  'no fingerprint, a member varies': [
    'other-body',
    'other-query',
    'other-path',
    'other-method',
    'same-answer',
    'replay-marker',
  ],
  'hangs after three requests': [],
  'answers no retry': ['same-answer'],
  'forgets after one replay': [
    'runs-once',
    'same-answer',
    'rotated-credential',
    'other-body',
    'reordered-json',
    'expiry',
  ],
  // F119
  'remembers ten keys': ['many-keys'],
  'only the first answer kept': ['same-answer', 'final-refusal'],
  'only the last answer kept': ['many-keys'],
  'status of the last': ['many-keys'],
  'ignores nested members': ['other-body'],
  'compares lengths': ['other-body', 'reordered-json', 'exact-numbers'],
  'compares one member': ['other-body'],
  'replays headers only': ['same-answer', 'final-refusal', 'hang-up'],
  'replays half': ['same-answer', 'final-refusal'],
  'joins header lines': ['same-headers'],
  'GET kept, a member varies': ['same-answer', 'replay-marker'],
  'HEAD wants no key': ['get-untouched'],
  'mismatch kept': ['other-body-changes-nothing'],
  'cuts keys to 36': ['key-case', 'key-spaces', 'key-long'],
  'refusal replayed as 200': ['final-refusal'],
  'who meets it locks it': ['hang-up'],
  'room for two': ['race-many'],
  'empty for who waits': ['race-pair', 'race-many', 'hang-up'],
  'runs before it asks its store': ['store-down'],
  'refuses and runs': ['other-body', 'race-other-body', 'other-query', 'other-path', 'other-method'],
  'empty after a hang-up': ['hang-up'],
  'charges again later': ['runs-once'],
  // F103
  'only the id is unique': [
    'same-answer',
    'replay-marker',
    'retry-after',
    'hang-up',
    'other-body-status',
    'final-refusal',
    'error-documents',
    'specification',
  ],
  'one scope for all, client ids': ['two-tenants'],
  'no record, echoes ids': [],
  'folds case, client ids': ['key-case'],
};

let bodies = 0;

const ORDER = '"amountCents":1200,"to":{"city":"Graz","lines":[1,2]}';

/** Bodies of a service whose clients supply a unique id. */
const CLIENT_IDS: Partial<VerifyOptions> = {
  body: () => `{"id":"${randomUUID()}",${ORDER}}`,
  hold: { body: () => `{"id":"${randomUUID()}",${ORDER},"holdMs":150}` },
};

/** What a fault needs to be seen. */
const GIVEN: Partial<Record<Fault, Partial<VerifyOptions>>> = {
  // The same body on purpose; where a body varies, equal ones may be duplicates by design (F103).
  'same body, same operation': { body: `{"item":"lamp",${ORDER}}` },
  'hangs after three requests': { requestTimeMaxMs: 100 },
  'answers no retry': { requestTimeMaxMs: 800 },
  'charges again later': { settleMs: 200, only: ['runs-once', 'two-keys', 'same-answer', 'other-query'] },
  'only the id is unique': CLIENT_IDS,
  'one scope for all, client ids': CLIENT_IDS,
  'folds case, client ids': CLIENT_IDS,
};

async function judged(
  fault: Fault | null,
  change: Partial<VerifyOptions> = {},
  lateMs = 0,
): Promise<VerifyReport> {
  const service = await Service.start(fault);
  service.lateMs = lateMs;
  try {
    return await verify({
      url: `${service.origin}/orders`,
      body: () => `{"item":"lamp ${bodies++}",${ORDER}}`,
      headers: { Authorization: 'shop-a.one' },
      tenantB: { Authorization: 'shop-b.one' },
      rotated: { Authorization: 'shop-a.two' },
      count: () => service.executions,
      hold: { body: () => `{"item":"lamp ${bodies++}",${ORDER},"holdMs":150}` },
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
  it.each([
    ['', {}],
    [' whose clients supply unique ids (F103)', CLIENT_IDS],
    [' whose body is always the same', { body: `{"item":"lamp",${ORDER}}` }],
  ])('judges every scenario of a service that is safe to retry%s, and finds no fault', async (_, given) => {
    const report = await judged(null, given);
    expect(unjudged(report)).toEqual([]);
    expect(faultsOf(report)).toEqual([]);
    expect(report).toMatchObject({ isClean: true, isComplete: true, leftOut: [] });
  });

  const single = (Object.keys(FAULTS) as Fault[]).filter((fault) => !fault.startsWith('no record'));
  describe.concurrent('names the one fault of a server, and no other', () => {
    it.each(single)('%s', { timeout: 60_000 }, async (fault) => {
      const report = await judged(fault, GIVEN[fault]);
      expect(faultsOf(report).toSorted()).toEqual([...BREAKS[fault]].toSorted());
      const hasMust = report.findings.some(({ level, verdict }) => level === 'MUST' && verdict === 'fault');
      expect(report.isClean).toBe(!hasMust);
    });
  });

  it('there are sixty of them, and more', () => {
    expect(single.length).toBeGreaterThanOrEqual(60);
  });

  it('says of a service without any record that everything is charged again', async () => {
    const found = faultsOf(await judged('no record'));
    expect(found).toEqual(
      expect.arrayContaining(['runs-once', 'same-answer', 'race-pair', 'race-many', 'hang-up']),
    );
    expect(found).not.toContain('two-tenants');
  });

  // F92
  it('holds nothing of what it saw no answer to', async () => {
    const report = await judged('hangs after three requests', { requestTimeMaxMs: 100 });
    expect(report.findings.filter(({ verdict }) => verdict === 'held')).toEqual([]);
    expect(report).toMatchObject({ isClean: true, isComplete: false });
  });

  // F92
  it.each([
    ['one scope for all, a member varies', 'two-tenants'],
    ['query ignored, a member varies', 'other-query'],
    ['path ignored, a member varies', 'other-path'],
    ['method ignored, a member varies', 'other-method'],
  ] as const)(
    'without a counter, "%s" leaves %s unjudged, and with a field finds it',
    async (fault, name) => {
      const only = [name];
      const blind = await verifyWithout(fault, { only });
      expect(blind.findings).toMatchObject([{ scenario: name, verdict: 'not-judged' }]);
      expect(blind.isComplete).toBe(false);
      const seeing = await verifyWithout(fault, { only, count: { field: 'id' } });
      expect(seeing.findings).toMatchObject([{ scenario: name, verdict: 'fault' }]);
      const held = await verifyWithout('a member varies', { only, count: { field: 'id' } });
      expect(held.findings).toMatchObject([{ scenario: name, verdict: 'held' }]);
    },
  );

  it('asks a count that each caller has of their own as the other tenant too', async () => {
    const asked = { only: ['two-tenants'], ownCount: true };
    const held = await verifyWithout('a member varies', asked);
    expect(held.findings).toMatchObject([{ verdict: 'held' }]);
    const leaking = await verifyWithout('one scope for all, a member varies', asked);
    expect(leaking.findings).toMatchObject([{ verdict: 'fault' }]);
  });

  it('judges GET that never answers alike neither way', async () => {
    for (const fault of ['GET kept, a member varies', 'a member varies'] as const) {
      const { findings } = await verifyWithout(fault, { only: ['get-untouched'] });
      expect(findings).toMatchObject([{ verdict: 'not-judged' }]);
    }
  });

  // F103
  it('takes no member for a count that the client has supplied', async () => {
    const field = { only: ['runs-once'], count: { field: 'id' }, ...CLIENT_IDS };
    await expect(verifyWithout('no record, echoes ids', field)).rejects.toThrow(
      /"id" is what the request supplied.*: name a member that the service makes/,
    );
    const path = await verifyWithout('a member varies', field);
    expect(path.findings).toMatchObject([{ verdict: 'held' }]);
  });

  it('tells a new key after its time from a replay without a counter too', async () => {
    const given = { only: ['expiry'], expiresMs: RETENTION_MS };
    const held = await verifyWithout('no marker', given);
    expect(held.findings).toMatchObject([{ verdict: 'held' }]);
    const kept = await verifyWithout('never forgets', given);
    expect(kept.findings).toMatchObject([{ verdict: 'fault' }]);
  });

  it.each([
    ['whose retry was answered after its time', 'a later one', { verdict: 'not-judged' }],
    ['for too long whose first answer came late', 'the first', { verdict: 'held' }],
  ] as const)('does not call a key remembered wrongly %s', async (_, stalled, expected) => {
    const keptAt = new Map<string, number>();
    let id = 0;
    const server = createServer((request, response) => {
      const key = String(request.headers['idempotency-key']);
      const ageMs = performance.now() - (keptAt.get(key) ?? performance.now());
      const isFirst = !keptAt.has(key);
      const isStalled = stalled === 'the first' ? isFirst : ageMs > RETENTION_MS / 2;
      request.resume();
      // What stalls the service stalls its look for the key.
      setTimeout(
        () => {
          const isKept = performance.now() - (keptAt.get(key) ?? -Infinity) < RETENTION_MS;
          if (!isKept) keptAt.set(key, performance.now());
          if (!isKept) id += 1;
          response.writeHead(201, isKept ? { 'Idempotency-Replayed': 'true' } : {}).end(`{"id":${id}}`);
        },
        isStalled ? RETENTION_MS + 500 : 0,
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const { findings } = await verify({
      url: `http://127.0.0.1:${port}/orders`,
      body: '{}',
      only: ['expiry'],
      expiresMs: RETENTION_MS,
    });
    server.close();
    expect(findings).toMatchObject([expected]);
  });

  // F119
  it('waits for effects that come late, and says how when it does not', async () => {
    const only = ['runs-once', 'two-keys', 'other-query', 'key-case'];
    const report = await judged(null, { only, settleMs: 200 }, 60);
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(['held', 'held', 'held', 'held']);
    await expect(judged(null, { only }, 60)).rejects.toThrow(/lags behind the answers, give --settle/);
  });
});

async function verifyWithout(
  fault: Fault,
  { ownCount = false, ...change }: Partial<VerifyOptions> & { readonly ownCount?: boolean },
): Promise<VerifyReport> {
  const service = await Service.start(fault);
  try {
    return await verify({
      url: `${service.origin}/orders`,
      headers: { Authorization: 'shop-a.one' },
      body: `{"item":"lamp",${ORDER}}`,
      ...(ownCount && {
        count: { url: `${service.origin}/own`, headers: { Authorization: 'shop-a.one' } },
      }),
      tenantB: { Authorization: 'shop-b.one' },
      otherUrl: `${service.origin}/refunds`,
      ...change,
    });
  } finally {
    await service.close();
  }
}
