/** A real janitor against the counters: what it says it did is what the metrics show, in both libraries. */

import { describe, expect, it } from 'vitest';
import { createJanitor } from '../../src/janitor/index.ts';
import { logEvents } from '../../src/metrics/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimed, finished, handRequest } from '../../../testing/src/contract/context.ts';
import { startMeters, sumOf, valueOf } from './meters.ts';

const DAY_MS = 86_400_000;

describe('metrics of a real janitor', () => {
  it('count what it ended, deleted and pruned, and when it came by', async () => {
    let now = Date.UTC(2030, 0);
    const store = memoryStore({ now: () => now });
    const { metrics, exposed } = startMeters();
    const lines: unknown[] = [];
    const write = (fields: object): void => void lines.push(fields);
    const logs = logEvents({ debug: write, info: write, warn: write, error: write });
    const janitor = createJanitor({
      store,
      auditRetentionMs: DAY_MS,
      onEvent(event) {
        metrics.janitor(event);
        logs.janitor(event);
      },
    });
    const failed = await finished(store, 'failed', { key: 'reopened' });
    await store.reopen([handRequest(failed)]);
    for (const key of ['a', 'b', 'c']) await finished(store, 'completed', { key });
    await claimed(store, { key: 'died', retentionMs: 10 * DAY_MS });
    now += 2 * DAY_MS;
    expect(await janitor.run()).toMatchObject({ swept: 1, reaped: 4, auditPruned: 1, failed: [] });
    const shown = await exposed();
    const total = (name: string): number => sumOf(shown, `api_idempotency_${name}_count_total`);
    expect(total('swept')).toBe(1);
    expect(total('zombie_key')).toBe(1);
    expect(total('ttl_pruned')).toBe(4);
    expect(total('audit_pruned')).toBe(1);
    for (const verb of ['sweep', 'reap', 'audit'])
      expect(valueOf(shown, 'api_idempotency_janitor_last_run', { verb })).toBeGreaterThan(0);
    expect(lines).toContainEqual(expect.objectContaining({ event: 'audit-pruned', count: 1 }));
  });
});
