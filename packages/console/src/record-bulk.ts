/**
 * One act on every record that a filter matches: tried in bites by the operator's own function, done row by row.
 *
 * Invariants: it settles or reopens, which a store refuses once a record has ended otherwise. A record is forgotten
 * one at a time, under its own warning: a late answer keeps the fence, and a store forgets what has completed since.
 */

import type { SamekeyRecord } from 'samekey';
import { isStoreError } from 'samekey/internals/core/errors';
import { createOperator } from 'samekey/operator';
import type { ActAnswer, ActRequest, BulkJob, BulkLine, List, Row } from './api.ts';
import { objectOf, textOf } from './asked-body.ts';
import type { Bite, BulkWork, By } from './bulk-jobs.ts';
import { refuseBesideSealed, refuseClear, refuseSealedSince } from './clear-answers.ts';
import { ConsoleFault } from './fault.ts';
import { listRecords, readFilter, STATES } from './lists.ts';
import type { StoreOfConsole } from './overview.ts';
import { doAct, effectsOf, type ReadAct, readAct, tryAct } from './record-acts.ts';
import { pause } from './rested-count.ts';

type Body = Readonly<Record<string, unknown>>;

const PAGE = 200;
const FILTERS = ['states', 'operation', 'caller', 'key', 'reference'] as const;
/** Of what somebody typed, in the words of a job. */
const WORDS_MAX = 200;
/** Of what an act is given; a body may have a megabyte. */
const GIVEN_MAX = 4_000;
/** Whoever else waits for this process waits no longer for a dry run. */
const TURN_MS = 10;

/** What was asked for. */
interface AskedJob {
  readonly act: BulkJob['act'];
  /** The act, as for one record. */
  readonly request: Body;
  readonly filter: readonly (readonly [name: string, value: unknown])[];
}

/** Reads what is meant. Throws `ConsoleFault`: also for all records at once. */
export function readJob(body: Body): AskedJob {
  const request = objectOf(body, 'request');
  const wanted = objectOf(body, 'filter');
  readFilter(wanted);
  textOf(wanted, 'reference');
  const filter = Object.entries(wanted).filter(
    ([name, value]) => FILTERS.some((each) => each === name) && !isEmpty(value) && !isAnyState(name, value),
  );
  if (filter.length === 0)
    throw new ConsoleFault(400, 'bad-request', 'Say which records: nothing is done to all there are.');
  const { act } = sample(request).request;
  if (act === 'forget')
    throw new ConsoleFault(
      400,
      'bad-request',
      'A job settles or reopens. Records are forgotten one at a time: each says there what may happen again.',
    );
  return { act, request, filter };
}

/** Throws for what no record takes, and for what would stand clear where answers are sealed: nothing has begun yet. */
export async function checkJob(store: StoreOfConsole, actor: string, { request }: AskedJob): Promise<void> {
  const given = sample(request);
  await tryAct(holding(null), actor, given);
  await refuseClear(store, given.request, []);
}

/** The act on no record there is. */
function sample(request: Body): ReadAct {
  return readAct({
    ...request,
    scope: 'any',
    key: 'any',
    seen: { claimId: 'any', attempt: 0, state: 'any' },
  });
}

/** The work of a job. */
export function recordWork(
  store: StoreOfConsole,
  actor: string,
  { act, request, filter }: AskedJob,
): BulkWork {
  const to = typeof request['to'] === 'string' ? ` to ${request['to']}` : '';
  const given = sample(request).request;
  const words = (isHidden: boolean): string =>
    [`${act}${to}`, ...filter.map((each) => wordsOf(each, isHidden))].join(' · ');
  return {
    act,
    words: words(false),
    lookersWords: words(true),
    does: effectsOf(given, null),
    given: givenOf(given),
    async *bites() {
      const operator = createOperator({ store, actor: null });
      const wanted = { ...Object.fromEntries(filter), limit: PAGE };
      for (let cursor: string | null = ''; cursor !== null; ) {
        const list: List = await listRecords(
          store,
          operator,
          cursor === '' ? wanted : { ...wanted, cursor },
          Date.now(),
        );
        yield await tried(store, actor, list, request);
        ({ cursor } = list);
      }
    },
  };
}

async function tried(
  store: StoreOfConsole,
  actor: string,
  { rows, looked, passedOver, isCut }: List,
  request: Body,
): Promise<Bite> {
  const asked = rows.map(({ scope, key, claimId, attempt, state }: Row) =>
    readAct({ ...request, scope, key, seen: { claimId, attempt, state } }),
  );
  const found = await store.find(rows.map(({ scope, key }) => ({ scope, key })));
  refuseBesideSealed(store, request, found);
  const lines: BulkLine[] = [];
  const fit: (readonly [place: number, each: ReadAct])[] = [];
  let since = performance.now();
  for (const [place, each] of asked.entries()) {
    const line = lineOf(each, await tryAct(holding(found[place] ?? null), actor, each), 'would');
    lines.push(line);
    if (line.end === 'would') fit.push([place, each]);
    if (performance.now() - since < TURN_MS) continue;
    await pause(0);
    since = performance.now();
  }
  return {
    lines,
    looked,
    isUnlisted: isCut || passedOver !== null,
    async perform(by, told, isStopped) {
      if (fit.length > 0)
        await refuseSealedSince(
          store,
          request,
          fit.map(([, { id }]) => id),
        );
      for (const [place, each] of fit) {
        if (isStopped()) return;
        await doOne(store, by, each, (line) => told([place, line]));
      }
    },
  };
}

async function doOne(
  store: StoreOfConsole,
  { actor, reason }: By,
  asked: ReadAct,
  told: (line: BulkLine) => void,
): Promise<void> {
  const { scope, key } = asked.id;
  try {
    told(lineOf(asked, await doAct(store, actor, asked, reason), 'done'));
  } catch (error) {
    const isNothing = isStoreError(error) && error.applied === 'no';
    told(
      isNothing
        ? { scope, key, end: 'failed', why: 'the store did not take it, and nothing was done' }
        : { scope, key, end: 'uncertain', why: 'nobody said whether it was done' },
    );
    // Another row may fare better where the store stumbled; of what is wrong with the request, or here, none does.
    if (!isStoreError(error) || (isNothing && !error.transient)) throw error;
  }
}

function lineOf({ id }: ReadAct, { kind, lines }: ActAnswer, good: 'would' | 'done'): BulkLine {
  const { scope, key } = id;
  if (kind === 'applied') return { scope, key, end: good, why: null };
  // Nothing is to be done, and nobody need look into it.
  if (kind === 'already') return { scope, key, end: 'already', why: null };
  return { scope, key, end: 'refused', why: lines[0] ?? kind };
}

/** A store that has this one record, for whoever only looks. */
function holding(record: SamekeyRecord | null): StoreOfConsole {
  const parts: Partial<StoreOfConsole> = { find: async (ids) => ids.map(() => record) };
  return parts as StoreOfConsole;
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' || value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  );
}

/** Whether it leaves nothing out. */
function isAnyState(name: string, value: unknown): boolean {
  return name === 'states' && Array.isArray(value) && STATES.every((state) => value.includes(state));
}

/** A key that a provider knows is not for who only looks. */
function wordsOf([name, value]: readonly [string, unknown], isHidden: boolean): string {
  if (isHidden && name === 'reference') return 'reference: …';
  return `${name}: ${cut(typeof value === 'string' ? value : JSON.stringify(value), WORDS_MAX)}`;
}

/** What whoever does it must have seen, by the names of a request. */
function givenOf({ response, because, callTimeMaxMs, effectResult, effect }: ActRequest): BulkWork['given'] {
  const given = Object.entries({ ...response, because, callTimeMaxMs, effectResult, effect });
  return given
    .filter(([name, value]) => value !== undefined && (value !== null || name === 'effectResult'))
    .map(([name, value]) => [
      name,
      cut(typeof value === 'string' ? value : JSON.stringify(value), GIVEN_MAX),
    ]);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}
