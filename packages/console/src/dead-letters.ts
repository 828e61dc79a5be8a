/**
 * Dead letters: listed, delivered again or deleted, one or all of a topic, in bites of which each says what became of
 * every row. What a store left unsaid is `uncertain`, which is not `failed`: who repeats it blindly delivers twice.
 */

import { isStoreError } from 'samekey/internals/core/errors';
import type { LetterRequest, Operator, StoredMessage } from 'samekey/operator';
import type { BulkAnswer, BulkRow, Letters, Overview } from './api.ts';
import { ConsoleFault } from './fault.ts';
import { letterOf, REQUESTS } from './shown.ts';

const ROWS = 50;
/** Of one call: one transaction, and one screen. */
const BITE = 500;
/** Pages that are read for letters that are named. */
const PAGES_MAX = 40;

/** What is asked for. */
interface Bulk {
  readonly ids: readonly string[] | null;
  readonly topic: string | undefined;
  readonly after: number;
}

/** A page of them, the oldest first. */
export async function listLetters(
  operator: Operator,
  counted: Pick<Overview, 'dead' | 'deadAt'>,
  { topic, after, now }: { readonly topic: string | undefined; readonly after: number; readonly now: number },
): Promise<Letters> {
  const letters = await operator.deadLetters({
    after,
    limit: ROWS,
    ...(topic === undefined ? {} : { topic }),
  });
  const requests = await operator.requestsOf(letters);
  return {
    now,
    letters: letters.map((letter, i) => letterOf(letter, requests[i] ?? 'none')),
    after: letters.length < ROWS ? null : (letters.at(-1)?.place ?? null),
    topics: counted.dead,
    topicsAt: counted.deadAt,
  };
}

/** Reads what is meant. Throws `ConsoleFault`. */
export function readBulk(body: Readonly<Record<string, unknown>>): Bulk {
  const { ids, all, topic, after = 0 } = body;
  const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string') && ids.length <= BITE;
  if ((ids !== undefined) === (all === true) || (ids !== undefined && !isList))
    throw new ConsoleFault(400, 'bad-request', `Name the letters (ids, at most ${BITE}), or say all.`);
  if (topic !== undefined && typeof topic !== 'string')
    throw new ConsoleFault(400, 'bad-request', 'topic is a text.');
  if (typeof after !== 'number' || !Number.isSafeInteger(after) || after < 0)
    throw new ConsoleFault(400, 'bad-request', 'after is a place.');
  return {
    ids: ids === undefined ? null : ids,
    topic: topic === '' ? undefined : topic,
    after,
  };
}

/** What would become of each, or has. `reason` null: nothing is done. */
export async function bulk(
  operator: Operator,
  verb: 'requeue' | 'drop',
  given: Bulk,
  reason: string | null,
): Promise<BulkAnswer & { readonly after: number | null }> {
  // All of a topic are others by the time that somebody has read what would become of them.
  if (given.ids === null && reason !== null)
    throw new ConsoleFault(400, 'bad-request', 'Name the letters (ids), as the dry run gave them.');
  const { letters, after } =
    given.ids === null ? await allOf(operator, given) : await named(operator, given.ids, given);
  const requests = await operator.requestsOf(letters);
  const fit = letters.filter((letter, i) => misfit(verb, requests[i] ?? 'none') === null);
  const refused = letters.flatMap((letter, i): readonly BulkRow[] => {
    const why = misfit(verb, requests[i] ?? 'none');
    return why === null ? [] : [{ id: letter.id, end: 'refused', why }];
  });
  const found = new Set(letters.map(({ id }) => id));
  const missing = (given.ids ?? [])
    .filter((id) => !found.has(id))
    .map((id): BulkRow => ({ id, end: 'refused', why: 'no dead letter (any more)' }));
  const ids = fit.map(({ id }) => id);
  const done =
    reason === null
      ? ids.map((id): BulkRow => ({ id, end: 'would', why: null }))
      : await apply(operator, verb, ids, reason);
  const rows = [...done, ...refused, ...missing];
  return { rows, counts: countsOf(rows), more: after !== null, after };
}

/** Why it does not fit; null: it does. */
function misfit(verb: 'requeue' | 'drop', request: LetterRequest): string | null {
  const mayGo = request === 'none' || request === 'open' || request === 'reopened';
  return verb === 'drop' || mayGo ? null : REQUESTS[request];
}

async function apply(
  operator: Operator,
  verb: 'requeue' | 'drop',
  ids: readonly string[],
  reason: string,
): Promise<readonly BulkRow[]> {
  if (ids.length === 0) return [];
  try {
    const done = new Set(await operator[verb](ids, { reason }));
    return ids.map((id) =>
      done.has(id)
        ? { id, end: 'done', why: null }
        : { id, end: 'refused', why: 'it has moved on in the meantime' },
    );
  } catch (error) {
    if (!isStoreError(error)) throw error;
    // What is wrong with the request itself is no row's fault.
    if (!error.transient && error.applied === 'no') throw error;
    const end = error.applied === 'no' ? 'failed' : 'uncertain';
    const why = end === 'failed' ? 'the store did not answer' : 'the store did not say whether it was done';
    return ids.map((id) => ({ id, end, why }));
  }
}

interface Found {
  readonly letters: readonly StoredMessage[];
  /** Where the next bite begins; null: there is none. */
  readonly after: number | null;
}

async function allOf(operator: Operator, { topic, after }: Bulk): Promise<Found> {
  const letters = await operator.deadLetters({
    after,
    limit: BITE,
    ...(topic === undefined ? {} : { topic }),
  });
  return { letters, after: letters.length < BITE ? null : (letters.at(-1)?.place ?? null) };
}

async function named(
  operator: Operator,
  ids: readonly string[],
  { topic, after: from }: Bulk,
): Promise<Found> {
  const wanted = new Set(ids);
  const letters: StoredMessage[] = [];
  for (let page = 0, after = from; page < PAGES_MAX && letters.length < wanted.size; page += 1) {
    const found = await operator.deadLetters({
      after,
      limit: BITE,
      ...(topic === undefined ? {} : { topic }),
    });
    letters.push(...found.filter(({ id }) => wanted.has(id)));
    if (found.length < BITE) break;
    after = found.at(-1)?.place ?? after;
  }
  return { letters, after: null };
}

function countsOf(rows: readonly BulkRow[]): BulkAnswer['counts'] {
  const counts: Partial<Record<BulkRow['end'], number>> = {};
  for (const { end } of rows) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}
