/**
 * Dead letters: listed, delivered again or deleted, those that are named at once and all of a topic as a job, which
 * does those that its dry run showed. Each says what became of it. What a store left unsaid is `uncertain`, which is
 * not `failed`: who repeats it blindly delivers twice.
 */

import { isStoreError } from 'samekey/internals/core/errors';
import { createOperator, type LetterRequest, type Operator, type StoredMessage } from 'samekey/operator';
import type { BulkAnswer, BulkLine, BulkRow, Letters, Overview } from './api.ts';
import type { Bite, BulkWork } from './bulk-jobs.ts';
import { ConsoleFault } from './fault.ts';
import type { StoreOfConsole } from './overview.ts';
import { letterOf, REQUESTS } from './shown.ts';

const ROWS = 50;
/** Of one call: one transaction, and one screen. */
const BITE = 500;
/** Of one call of a job: so many nobody knows of where its answer is lost, and so many are done after "Stop". */
const CALL = 100;
/** Pages that are read for letters that are named. */
const PAGES_MAX = 40;

/** What is done to them. */
type LetterAct = 'requeue' | 'drop';

/** What is asked for. */
interface Bulk {
  readonly ids: readonly string[];
  readonly topic: string | undefined;
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
  const { ids } = body;
  if (!Array.isArray(ids) || ids.length > BITE || !ids.every((id) => typeof id === 'string'))
    throw new ConsoleFault(
      400,
      'bad-request',
      `Name the letters (ids, at most ${BITE}); all of a topic are a job.`,
    );
  return { ids, topic: topicOf(body) };
}

/** The topic that is meant; undefined: any. Throws `ConsoleFault`. */
export function topicOf({ topic }: Readonly<Record<string, unknown>>): string | undefined {
  if (topic !== undefined && typeof topic !== 'string')
    throw new ConsoleFault(400, 'bad-request', 'topic is a text.');
  return topic === '' ? undefined : topic;
}

/** What would become of each, or has. `reason` null: nothing is done. */
export async function bulk(
  operator: Operator,
  act: LetterAct,
  given: Bulk,
  reason: string | null,
): Promise<BulkAnswer> {
  const letters = await named(operator, given);
  const tried = await tryAll(operator, act, letters);
  const rows = tried.filter(({ end }) => end === 'refused');
  const found = new Set(letters.map(({ id }) => id));
  for (const id of given.ids)
    if (!found.has(id)) rows.push({ id, end: 'refused', why: 'no dead letter (any more)' });
  const fit = tried.filter(({ end }) => end === 'would');
  if (reason === null) rows.unshift(...fit);
  else {
    const { done, thrown } = await apply(
      operator,
      act,
      fit.map(({ id }) => id),
      reason,
    );
    // What is wrong with the request itself is no row's fault.
    if (thrown !== null) throw thrown.error;
    rows.unshift(...done);
  }
  return { rows, counts: countsOf(rows) };
}

const DOES: Readonly<Record<LetterAct, string>> = {
  requeue:
    'Each is due at once, and is delivered again by a worker that runs, under the same downstream key.',
  drop: 'Each is deleted. A message of its own is still owed to whoever it was for, and is never sent then.',
};

/** All of a topic, as a job. */
export function letterWork(store: StoreOfConsole, act: LetterAct, topic: string | undefined): BulkWork {
  const words = `${act} · ${topic === undefined ? 'all dead letters' : `dead letters of ${topic}`}`;
  return {
    act,
    words,
    lookersWords: words,
    does: [DOES[act]],
    given: [],
    async *bites() {
      const operator = createOperator({ store, actor: null });
      for (let after: number | null = 0; after !== null; ) {
        const letters: readonly StoredMessage[] = await page(operator, topic, after);
        yield biteOf(store, act, letters, await tryAll(operator, act, letters));
        after = letters.length < BITE ? null : (letters.at(-1)?.place ?? null);
      }
    },
  };
}

function biteOf(
  store: StoreOfConsole,
  act: LetterAct,
  letters: readonly StoredMessage[],
  tried: readonly BulkRow[],
): Bite {
  // Of the letters nothing else is held: their payloads are large, and a job is kept for long.
  const lines = tried.map(({ id, end, why }, place): BulkLine => {
    const { scope = '', key = '' } = letters[place]?.owner ?? {};
    return { letter: id, scope, key, end, why };
  });
  return {
    lines,
    looked: lines.length,
    isUnlisted: false,
    async perform({ actor, reason }, told, isStopped) {
      const operator = createOperator({ store, actor });
      const fit = [...lines.entries()].filter(([, { end }]) => end === 'would');
      for (let from = 0; from < fit.length && !isStopped(); from += CALL) {
        const some = fit.slice(from, from + CALL);
        const ids = some.map(([, { letter = '' }]) => letter);
        const { done, thrown } = await apply(operator, act, ids, reason);
        told(
          ...some.map(([place, line], i) => {
            const { end, why } = done[i] ?? line;
            return [place, { ...line, end, why }] as const;
          }),
        );
        if (thrown !== null) throw thrown.error;
      }
    },
  };
}

/** What would become of each, in their order. */
async function tryAll(
  operator: Operator,
  act: LetterAct,
  letters: readonly StoredMessage[],
): Promise<BulkRow[]> {
  const requests = await operator.requestsOf(letters);
  return letters.map(({ id }, i) => {
    const why = misfit(act, requests[i] ?? 'none');
    return { id, end: why === null ? 'would' : 'refused', why };
  });
}

/** Why it does not fit; null: it does. */
function misfit(act: LetterAct, request: LetterRequest): string | null {
  const mayGo = request === 'none' || request === 'open' || request === 'reopened';
  return act === 'drop' || mayGo ? null : REQUESTS[request];
}

interface Applied {
  /** In the order of the ids. */
  readonly done: readonly BulkRow[];
  /** What no other row fares better with. */
  readonly thrown: { readonly error: unknown } | null;
}

async function apply(
  operator: Operator,
  act: LetterAct,
  ids: readonly string[],
  reason: string,
): Promise<Applied> {
  if (ids.length === 0) return { done: [], thrown: null };
  try {
    const gone = new Set(await operator[act](ids, { reason }));
    const done = ids.map(
      (id): BulkRow =>
        gone.has(id)
          ? { id, end: 'done', why: null }
          : { id, end: 'refused', why: 'it has moved on in the meantime' },
    );
    return { done, thrown: null };
  } catch (error) {
    const isNothing = isStoreError(error) && error.applied === 'no';
    const end = isNothing ? 'failed' : 'uncertain';
    const why = isNothing ? 'the store did not answer' : 'the store did not say whether it was done';
    const mayHelp = isStoreError(error) && (error.transient || !isNothing);
    return { done: ids.map((id) => ({ id, end, why })), thrown: mayHelp ? null : { error } };
  }
}

function page(
  operator: Operator,
  topic: string | undefined,
  after: number,
): Promise<readonly StoredMessage[]> {
  return operator.deadLetters({ after, limit: BITE, ...(topic === undefined ? {} : { topic }) });
}

async function named(operator: Operator, { ids, topic }: Bulk): Promise<readonly StoredMessage[]> {
  const wanted = new Set(ids);
  const letters: StoredMessage[] = [];
  for (let looked = 0, after = 0; looked < PAGES_MAX && letters.length < wanted.size; looked += 1) {
    const found = await page(operator, topic, after);
    letters.push(...found.filter(({ id }) => wanted.has(id)));
    if (found.length < BITE) break;
    after = found.at(-1)?.place ?? after;
  }
  return letters;
}

function countsOf(rows: readonly BulkRow[]): BulkAnswer['counts'] {
  const counts: Partial<Record<BulkRow['end'], number>> = {};
  for (const { end } of rows) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}
