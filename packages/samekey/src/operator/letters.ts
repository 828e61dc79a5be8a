/**
 * Dead letters and the requests that they are the work of: which may still be delivered, and which nobody waits for.
 * Reads only.
 */

import type { StoredMessage } from '../store/message.ts';
import { mayRequeue } from '../store/machine/messages.ts';
import { idText, isErased, isForgotten, type SamekeyRecord } from '../core/record.ts';
import type { Store } from '../store/store.ts';

/**
 * What became of the request that handed a dead letter over. `none`: the message is one of its own, and owed. `open`:
 * the request waits for it, or nobody knows its outcome. `answered`: it has failed, and the client may have seen that:
 * reopen it first. `reopened`: it may be delivered again, unless a retry comes before. `decided`: it is done, was found
 * without effect, or runs again. `gone`: expired, forgotten or erased. Those that are `decided` or `gone` are never
 * delivered again: drop them.
 */
export type LetterRequest = 'none' | 'open' | 'answered' | 'reopened' | 'decided' | 'gone';

/** Looks at the requests of these letters. */
export async function requestsOf(
  store: Store,
  letters: readonly StoredMessage[],
): Promise<readonly LetterRequest[]> {
  const owners = new Map(
    letters.flatMap(({ owner }) =>
      owner === null ? [] : [[idText(owner), { scope: owner.scope, key: owner.key }] as const],
    ),
  );
  const found = owners.size === 0 ? [] : await store.find([...owners.values()]);
  const records = new Map([...owners.keys()].map((id, i) => [id, found[i] ?? null]));
  return letters.map((letter) =>
    requestOf(letter, letter.owner === null ? null : (records.get(idText(letter.owner)) ?? null)),
  );
}

function requestOf(letter: StoredMessage, record: SamekeyRecord | null): LetterRequest {
  const { owner } = letter;
  if (owner === null) return 'none';
  if (record === null || isForgotten(record) || isErased(record)) return 'gone';
  if (mayRequeue(letter, record)) return record.state === 'retryable' ? 'reopened' : 'open';
  const isHis = record.claimId === owner.claimId && record.attempt === owner.attempt;
  return isHis && record.state === 'failed' ? 'answered' : 'decided';
}
