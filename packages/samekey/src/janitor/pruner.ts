/** One round over the audit: rows older than their retention are deleted, in batches. */

import { AUDIT_ACTS, type AuditAct, type AuditStore } from '../store/audit.ts';
import type { JanitorEvent } from './janitor-events.ts';

/** How long rows of the audit are kept, in milliseconds; null: for ever. */
export interface AuditRetention {
  readonly auditRetentionMs: number | null;
  readonly transitionRetentionMs: number | null;
}

/** What a pruner works with. */
interface PrunerOptions extends AuditRetention {
  readonly store: Pick<AuditStore, 'pruneAudit'>;
  readonly batchSizeMax: number;
  readonly emit: (event: JanitorEvent) => void;
  readonly pause: (ms: number) => Promise<void>;
}

const PAUSE_MS = 20;

/** Makes it; each call is one round. Returns how many rows; throws `StoreError`. */
export function createPruner(options: PrunerOptions): (isStopping: () => boolean) => Promise<number> {
  const { store, batchSizeMax: limit, emit, pause } = options;
  const kinds: readonly (readonly [acts: readonly AuditAct[], retentionMs: number | null])[] = [
    [AUDIT_ACTS.filter((act) => act !== 'transition'), options.auditRetentionMs],
    [['transition'], options.transitionRetentionMs],
  ];
  return async (isStopping) => {
    let pruned = 0;
    try {
      for (const [acts, olderThanMs] of kinds) {
        if (olderThanMs === null) continue;
        while (!isStopping()) {
          const count = await store.pruneAudit({ acts, olderThanMs, limit });
          pruned += count;
          if (count < limit) break;
          await pause(PAUSE_MS);
        }
      }
    } finally {
      // Also when a later batch failed: these rows are gone.
      if (pruned > 0) emit({ type: 'audit-pruned', count: pruned });
    }
    return pruned;
  };
}
