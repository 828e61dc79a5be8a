/** Uses each statement that the store's sessions prepare, once at least. */

import {
  claimed,
  claimRequest,
  eraseRequest,
  finished,
  finishRequest,
  forgetAsSeen,
  handRequest,
  recordOf,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { contradictionRow } from '../../src/engine/ending/noter.ts';
import type { PostgresStore } from '../../src/stores/postgres/index.ts';

/** Under keys that begin with `prefix`. */
export async function useEveryStatement(store: PostgresStore, prefix: string): Promise<void> {
  const many = Array.from({ length: 100 }, (_, i) => claimRequest({ key: `${prefix}-${i}` }));
  const owners = many.map((request) => ({ ...request, attempt: 1 }));
  await store.claim(many);
  await store.claim(many.map((request) => ({ ...request, claimId: 'other' })));
  await store.renew(owners.map(renewRequest));
  await store.finish(owners.map((owner) => finishRequest(owner, 'retryable')));
  await store.claim(many.map((request) => ({ ...request, claimId: `${request.claimId}-2` })));
  await store.find(many);
  const calling = [];
  for (const n of ['1', '2', '3']) calling.push(await claimed(store, { key: `${prefix}-calling-${n}` }));
  const intents = calling.map((owner) => ({
    ...owner,
    claimTtlMs: 10_000,
    recoveryPoint: null,
    steps: '[]',
    intentOpen: true,
    reference: { reference: `${prefix} ${owner.key}`, effect: 'charge' },
  }));
  await store.checkpoint(intents);
  await store.checkpoint(intents.slice(0, 1));
  await store.references?.find([`${prefix} ${prefix}-calling-1`, 'of nobody'], 10);
  const one = await claimed(store, { key: `${prefix}-one` });
  await store.renew([renewRequest(one)]);
  await store.finish([finishRequest(one, 'retryable')]);
  await claimed(store, { key: `${prefix}-one` });
  await recordOf(store, one);
  await forgetAsSeen(store, await finished(store, 'completed', { key: `${prefix}-forgotten` }));
  const scope = `${prefix}|POST /payments`;
  await store.reopen([handRequest(await finished(store, 'failed', { key: `${prefix}-reopened` }))]);
  for (const key of ['k', 'l']) await finished(store, 'completed', { scope, key });
  await store.erase(eraseRequest(prefix));
  const row = contradictionRow({
    id: one,
    operation: null,
    attempt: 1,
    found: null,
    wanted: 'failed',
    reason: null,
  });
  await store.note([row]);
  await store.note([row, row]);
  await store.pruneAudit({ olderThanMs: 0, acts: ['contradiction', 'erase'], limit: 10 });
  await store.sweep(10);
  await finished(store, 'unknown', { key: `${prefix}-unknown` });
  await store.takeUnknown({ operations: ['POST /payments'], leaseMs: 1_000, limit: 10 });
  await store.reap(10);
}
