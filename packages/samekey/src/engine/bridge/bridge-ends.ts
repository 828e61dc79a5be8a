/**
 * When a bridge may go, as far as a store can tell (F111): one retention after the last process without it left. Nobody
 * notes when that was; but a record that such a process made has the former name and no pointer, so the last of them
 * says it.
 */

import { isPointer, targetOf } from './pointer.ts';
import type { SamekeyRecord } from '../../core/record.ts';
import type { OperatorStore } from '../../store/operator-store.ts';

/** A bridge that the newest pointers tell of. */
export interface BridgeEnd {
  /** The operation as it is called now. */
  readonly operation: string;
  /** What it was called where its records are kept; the same where only its scope has changed. */
  readonly formerly: string;
  /** When the newest pointer was laid: the bridge stood then. */
  readonly laidAt: number;
  /**
   * When what processes without the bridge have kept is past; null where nothing of it is left to be seen. If such a
   * process still runs, it may make more.
   */
  readonly pastAt: number | null;
  /**
   * Whether `pastAt` is known: where the name is the same before and after, records of old code look like those of new.
   */
  readonly isKnown: boolean;
}

/** Reads the newest records and, for each former name, the newest of that name. Changes nothing. */
export async function bridgeEnds(store: Pick<OperatorStore, 'list'>): Promise<readonly BridgeEnd[]> {
  const newest = await store.list({ states: ['completed'], limit: PAGE });
  const bridges = new Map<string, { operation: string; formerly: string; laidAt: number }>();
  for (const record of newest) {
    const target = isPointer(record) ? targetOf(record) : null;
    if (target === null) continue;
    const { operation, createdAt } = record;
    // Unique for the caller, a scope has no operation in it.
    const formerly = decoded(target.id.scope) ?? operation;
    const name = JSON.stringify([operation, formerly]);
    if (!bridges.has(name)) bridges.set(name, { operation, formerly, laidAt: createdAt });
  }
  return Promise.all(
    Array.from(bridges.values(), async (bridge) => {
      const isKnown = bridge.formerly !== bridge.operation;
      return { ...bridge, isKnown, pastAt: isKnown ? await lastOf(store, bridge.formerly) : null };
    }),
  );
}

const PAGE = 1_000;

/** The operation in a scope's text. */
function decoded(scope: string): string | null {
  const at = scope.indexOf('|');
  return at < 0 ? null : decodeURIComponent(scope.slice(at + 1));
}

/** A record that code with the bridge has claimed since has the present name. */
async function lastOf(store: Pick<OperatorStore, 'list'>, operation: string): Promise<number | null> {
  const kept: readonly SamekeyRecord[] = await store.list({ operation, limit: PAGE });
  const ends = kept.filter((record) => !isPointer(record)).map(({ expiresAt }) => expiresAt);
  return ends.length === 0 ? null : Math.max(...ends);
}
