/** The catalogue: every metric is moved by something, by the same amount in both libraries, and labels stay few. */

import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../src/engine/events.ts';
import { ALL_METRICS, prometheusName } from '../../src/metrics/index.ts';
import { startMeters, sumOf, valueOf } from './meters.ts';
import { delivered, ENGINE, JANITOR, met, RECONCILER, WORKER } from './samples.ts';

function tellAll({ metrics }: ReturnType<typeof startMeters>): void {
  for (const event of ENGINE) metrics.samekey(event);
  for (const event of WORKER) metrics.worker(event);
  for (const event of JANITOR) metrics.janitor(event);
  for (const event of RECONCILER) metrics.reconciler(event);
}

/** What looks at a store sets; see observe.test.ts. */
const OBSERVED = new Set([
  'records',
  'unknown.oldest_age.seconds',
  'queue.depth',
  'dead_letters',
  'observed.last_run',
]);

const name = (short: string): string => `api_idempotency_${short}_count_total`;

describe('the catalogue of metrics', () => {
  it('every type of event of an instance is among the samples of this test', () => {
    expect([...new Set(ENGINE.map(({ type }) => type))].toSorted()).toEqual([...EVENT_TYPES].toSorted());
  });

  it('every metric is moved by an event, or set by a look at the store', async () => {
    const meters = startMeters();
    tellAll(meters);
    const exposed = await meters.exposed();
    for (const [metric, { kind }] of ALL_METRICS) {
      if (OBSERVED.has(metric)) continue;
      const series = prometheusName(metric) + (kind === 'histogram' ? '_count' : '');
      expect(sumOf(exposed, series), metric).toBeGreaterThan(0);
    }
  });

  it('keys that were left, rows that were pruned and outcomes that were settled count by what became of them', async () => {
    const meters = startMeters();
    tellAll(meters);
    const exposed = await meters.exposed();
    expect(valueOf(exposed, name('zombie_key'), { to: 'unknown' })).toBe(1);
    expect(sumOf(exposed, name('zombie_key'))).toBe(1);
    expect(sumOf(exposed, name('swept'))).toBe(2);
    expect(sumOf(exposed, name('ttl_pruned'))).toBe(3);
    expect(sumOf(exposed, name('audit_pruned'))).toBe(2);
    expect(sumOf(exposed, name('reconcile_scheduled'))).toBe(1);
    expect(valueOf(exposed, name('reconcile_resolved'), { to: 'completed', by: 'inquiry' })).toBe(1);
    expect(valueOf(exposed, name('reconcile_failed'), { operation: 'pay' })).toBe(1);
    expect(sumOf(exposed, name('reconcile_given_up'))).toBe(1);
    for (const source of ['engine', 'worker', 'reconciler'])
      expect(valueOf(exposed, name('contradiction'), { source }), source).toBe(1);
    const lastRun = valueOf(exposed, 'api_idempotency_janitor_last_run', { verb: 'sweep' });
    expect(Math.abs(lastRun - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('a counter with closed labels is there, at zero, before anything has happened', async () => {
    const exposed = await startMeters().exposed();
    for (const source of ['engine', 'worker', 'reconciler'])
      expect(exposed.get(`api_idempotency_contradiction_count_total{source="${source}"}`)).toBe(0);
    expect(exposed.get('api_idempotency_ttl_pruned_count_total{}')).toBe(0);
  });

  it('labels that others name are bounded: the rest is counted as other', async () => {
    const meters = startMeters({ operationsMax: 3, topicsMax: 2, scopesMax: 2 });
    for (let n = 0; n < 500; n += 1) {
      const many = { scope: `a6:caller${n}|pay`, key: `k-${n}` };
      for (let times = 0; times < 12; times += 1)
        meters.metrics.samekey({ ...met, kind: 'replay', id: many, operation: `operation-${n}` });
      meters.metrics.worker({ type: 'delivered', ...delivered, topic: `topic-${n}` });
    }
    const exposed = await meters.exposed();
    const values = (label: string): Set<string> =>
      new Set(
        [...exposed.keys()].flatMap((series) => new RegExp(`[{,]${label}="([^"]*)"`).exec(series)?.[1] ?? []),
      );
    expect(values('operation').size).toBe(4);
    expect(values('topic').size).toBe(3);
    expect(values('scope').size).toBe(3);
    expect(sumOf(exposed, 'api_idempotency_request_count_total')).toBe(6_000);
    expect(sumOf(exposed, 'api_idempotency_scope_request_count_total')).toBe(6_000);
    expect(exposed.size).toBeLessThan(1_000);
  });

  it('a busy caller gets its series among any number of callers that come once', async () => {
    const meters = startMeters({ scopesMax: 5 });
    for (let n = 0; n < 20_000; n += 1) {
      const caller = n % 20 === 0 ? 'busy' : `once-${n}`;
      meters.metrics.samekey({ ...met, kind: 'mismatch', id: { scope: `${caller}|pay`, key: `k-${n}` } });
    }
    const exposed = await meters.exposed();
    const scopes = [...exposed].filter(([series]) => /scope_request.*misuse/.test(series));
    expect(scopes).toHaveLength(2);
    expect(sumOf(exposed, 'api_idempotency_scope_request_count_total')).toBe(20_000);
  });
});
