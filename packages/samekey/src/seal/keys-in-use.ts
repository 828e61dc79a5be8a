/** Which keys a store's rows are sealed with: a key may be taken off the ring when nothing names it any more. */

import type { StoreWithMessages } from '../store/message.ts';
import { idText, type SamekeyRecord } from '../core/record.ts';
import type { Store } from '../store/store.ts';
import { storeBehind } from './sealed-store.ts';
import { sealKeyIdsOf, sealKeyIdsOfMessage } from './sealer.ts';

/** How many rows have something that is sealed with a key; under `null` those that hold something clear. */
export type SealKeyCounts = ReadonlyMap<string | null, number>;

/** What {@link sealKeysInUse} found. */
export interface SealKeysInUse {
  readonly records: SealKeyCounts;
  /** Empty where the store keeps none. */
  readonly messages: SealKeyCounts;
  /**
   * False: more than a thousand records were made in one millisecond, and the count stopped there. Drop no key then.
   */
  readonly isComplete: boolean;
}

const PAGE = 1_000;

/**
 * Reads the whole store, page by page, sealed or not; no key is needed. A row may count under two keys: its input was
 * sealed with one, its answer with the next. Rows written meanwhile are not seen: count after every process has the new
 * current key, and the longest retention later.
 */
export async function sealKeysInUse(store: Store): Promise<SealKeysInUse> {
  const behind = storeBehind(store);
  const records = new Map<string | null, number>();
  let isComplete = true;
  let seen = new Set<string>();
  let createdBefore: number | undefined;
  for (;;) {
    const page = await behind.list({ limit: PAGE, ...(createdBefore !== undefined && { createdBefore }) });
    const fresh = page.filter((record) => !seen.has(idText(record)));
    for (const record of fresh) for (const keyId of keysOf(record)) add(records, keyId);
    if (page.length < PAGE) break;
    if (fresh.length === 0) {
      isComplete = false;
      break;
    }
    // Others may have been made in the same millisecond: it is asked for again, and what was counted is left out.
    createdBefore = (page.at(-1) as SamekeyRecord).createdAt + 1;
    seen = new Set(page.map(idText));
  }
  return { records, messages: await messageKeys(behind), isComplete };
}

async function messageKeys(store: Store): Promise<SealKeyCounts> {
  const counts = new Map<string | null, number>();
  const { messages } = store as Partial<StoreWithMessages>;
  if (messages === undefined) return counts;
  for (let after = -1; ; ) {
    const page = await messages.list({ limit: PAGE, ...(after >= 0 && { after }) });
    for (const message of page) {
      const ids = sealKeyIdsOfMessage(message);
      for (const keyId of ids.length === 0 ? [null] : ids) add(counts, keyId);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)?.place ?? after;
  }
  return counts;
}

function keysOf(record: SamekeyRecord): readonly (string | null)[] {
  const { parts, keyIds } = sealKeyIdsOf(record);
  return parts > keyIds.length ? [...new Set(keyIds), null] : [...new Set(keyIds)];
}

function add(counts: Map<string | null, number>, keyId: string | null): void {
  counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
}
