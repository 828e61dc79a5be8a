/** References of the memory store: two maps, so that a look and a deletion each go where they must and nowhere else. */

import { idText, isForgotten, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { CallUnderWay, NewReference, Referred } from '../../store/references.ts';
import type { FencedId } from '../../store/store.ts';

type Kept = Omit<Referred, 'operation'>;

/** Them, and what writes them. */
interface MemoryReferences {
  find(references: readonly string[], limit: number): readonly Referred[];
  /** The calls of records; those of messages are the messages’. */
  underWay(operations: readonly string[], limit: number): readonly CallUnderWay[];
  /** Nothing where the record is another attempt’s by now. */
  put(owner: FencedId, reference: NewReference): void;
  remove(id: RecordId): void;
}

/** Makes them, of the records that the store holds. */
export function createMemoryReferences(records: ReadonlyMap<string, SamekeyRecord>): MemoryReferences {
  const byReference = new Map<string, Map<string, Kept>>();
  const byRecord = new Map<string, Set<string>>();

  function lead({ createdAt, scope, key, attempt, effect }: Kept): readonly Referred[] {
    const record = records.get(idText({ scope, key }));
    if (record === undefined || record.createdAt !== createdAt || isForgotten(record)) return [];
    return [{ scope, key, operation: record.operation, createdAt, attempt, effect }];
  }

  function remove(id: string): void {
    for (const reference of byRecord.get(id) ?? []) {
      const leads = byReference.get(reference);
      leads?.delete(id);
      if (leads?.size === 0) byReference.delete(reference);
    }
    byRecord.delete(id);
  }

  return {
    find: (wanted, limit) =>
      [...new Set(wanted)]
        .flatMap((reference) => [...(byReference.get(reference)?.values() ?? [])].flatMap(lead))
        .slice(0, limit),
    underWay: (operations, limit) =>
      [...records.values()]
        .filter(({ operation, state, intentAt }) => {
          const isOpen = state === 'in_progress' || state === 'unknown' || state === 'retryable';
          return isOpen && intentAt !== null && operations.includes(operation);
        })
        .toSorted((a, b) => b.createdAt - a.createdAt)
        .slice(0, limit)
        .map(({ scope, key, operation, state, claimId, lockedUntil, steps }) => ({
          scope,
          key,
          operation,
          state,
          claimId,
          lockedUntil,
          steps,
        })),
    put({ scope, key, claimId, attempt }, { reference, effect }) {
      const id = idText({ scope, key });
      const record = records.get(id);
      if (record?.claimId !== claimId || record.attempt !== attempt) return;
      const { createdAt } = record;
      const isOfAnotherLife = [...(byRecord.get(id) ?? [])].some(
        (each) => byReference.get(each)?.get(id)?.createdAt !== createdAt,
      );
      if (isOfAnotherLife) remove(id);
      const leads = byReference.get(reference) ?? new Map<string, Kept>();
      byReference.set(reference, leads.set(id, { scope, key, createdAt, attempt, effect }));
      byRecord.set(id, (byRecord.get(id) ?? new Set()).add(reference));
    },
    remove: (id) => remove(idText(id)),
  };
}
