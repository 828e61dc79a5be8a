/**
 * The store as the auditor sees it: every call passes, and every record it changed is reported with what stood before.
 */

import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { Store } from '../../core/store.ts';
import type { WritingVerb } from '../audit/transitions.ts';
import type { Auditor } from '../auditor.ts';

/** Puts the auditor behind a store. `ids` are all keys of the history, for the verbs that name none. */
export function watchedStore(
  store: Store,
  auditor: Auditor,
  storeNow: () => number,
  ids: readonly RecordId[],
): Store {
  const last = new Map<string, SamekeyRecord | null>();

  async function watch<Result>(
    verb: WritingVerb,
    about: readonly RecordId[],
    named: boolean,
    apply: () => Promise<Result>,
  ): Promise<Result> {
    // Asked in the same instant as the call: what a store changes later is seen with its next call.
    const applied = apply();
    const now = storeNow();
    const result = await applied;
    const records = await store.find(about);
    for (const [i, id] of about.entries()) {
      const text = idText(id);
      const before = last.get(text) ?? null;
      const after = records[i] ?? null;
      last.set(text, after);
      auditor.changed({ verb, request: named ? id : null, before, after, now });
    }
    return result;
  }

  return {
    ...store,
    claim: (requests) => watch('claim', requests, true, () => store.claim(requests)),
    renew: (requests) => watch('renew', requests, true, () => store.renew(requests)),
    finish: (requests) => watch('finish', requests, true, () => store.finish(requests)),
    settle: (requests) => watch('settle', requests, true, () => store.settle(requests)),
    reopen: (requests) => watch('reopen', requests, true, () => store.reopen(requests)),
    forget: (requests) => watch('forget', requests, true, () => store.forget(requests)),
    sweep: (limit) => watch('sweep', ids, false, () => store.sweep(limit)),
    reap: (limit) => watch('reap', ids, false, () => store.reap(limit)),
  };
}
