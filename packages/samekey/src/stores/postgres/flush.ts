/**
 * One flush: the statements that answer one bulk call. They run one after the other on a connection that other flushes
 * use as well, each in a transaction of its own; but the call has one answer, so what one statement has written must
 * not be denied because of another.
 */

import { idText, type RecordId } from '../../core/record.ts';
import { unclear } from '../verbs/change.ts';
import type { Link } from './link.ts';
import type { Ask } from './client.ts';

/**
 * Sends one flush on a link. One statement must not touch a row twice: repeats of an id go into a group of their own,
 * after the first.
 */
export function eachOnce<Request extends RecordId, Result>(
  link: Link,
  requests: readonly Request[],
  send: (ask: Ask, requests: readonly Request[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const ask = oneFlush(link.ask);
  return inGroups(requests, (group) => send(ask, group));
}

/** Gives each id once to a call of `send`, repeats after the first. */
async function inGroups<Request extends RecordId, Result>(
  requests: readonly Request[],
  send: (requests: readonly Request[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  if (requests.length === 0) return [];
  if (requests.length === 1) return send(requests);
  const seen = new Set<string>();
  const repeats: number[] = [];
  for (const [i, request] of requests.entries()) {
    const id = idText(request);
    if (seen.has(id)) repeats.push(i);
    seen.add(id);
  }
  if (repeats.length === 0) return send(requests);
  const later = new Set(repeats);
  const first = await send(requests.filter((_, i) => !later.has(i)));
  const second = await inGroups(
    repeats.map((i) => requests[i] as Request),
    send,
  );
  const [early, late] = [first.values(), second.values()];
  return requests.map((_, i) => (later.has(i) ? late : early).next().value as Result);
}

/**
 * The statements of one flush have one answer. Once one of them was answered, an error of a later one that proves
 * nothing was applied (the connection was lost to somebody else's statement in between, and cannot be made anew) proves
 * that for itself only: the flush is unclear. Otherwise a claim that was granted would be taken for none, and its key
 * be left to the end of the claim.
 */
function oneFlush(ask: Ask): Ask {
  let answered = false;
  return async (statement, values) => {
    try {
      const rows = await ask(statement, values);
      answered = true;
      return rows;
    } catch (error) {
      throw answered ? unclear(error) : error;
    }
  };
}
