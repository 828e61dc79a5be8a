/** One act on every record that a filter matches: tried in bites by the operator's own function, done row by row. */

import type { SamekeyRecord } from 'samekey';
import { isStoreError } from 'samekey/internals/core/errors';
import { createOperator } from 'samekey/operator';
import type { ActAnswer, ActRequest, BulkLine, List, Row } from './api.ts';
import type { Bite, BulkWork, By } from './bulk-jobs.ts';
import { refuseClear } from './clear-answers.ts';
import { ConsoleFault } from './fault.ts';
import { listRecords } from './lists.ts';
import type { StoreOfConsole } from './overview.ts';
import { doAct, type ReadAct, readAct, tryAct } from './record-acts.ts';

type Body = Readonly<Record<string, unknown>>;

const PAGE = 200;
const FILTERS = ['states', 'operation', 'caller', 'key', 'reference'] as const;

/** What was asked for. */
interface AskedJob {
  readonly act: ActRequest['act'];
  /** The act, as for one record. */
  readonly request: Body;
  readonly filter: readonly (readonly [name: string, value: unknown])[];
}

/** Reads what is meant. Throws `ConsoleFault`: also for all records at once. */
export function readJob(body: Body): AskedJob {
  const request = objectOf(body, 'request');
  const filter = Object.entries(objectOf(body, 'filter')).filter(
    ([name, value]) => FILTERS.some((each) => each === name) && !isEmpty(value),
  );
  if (filter.length === 0)
    throw new ConsoleFault(400, 'bad-request', 'Say which records: nothing is done to all there are.');
  const { act } = readAct({ ...request, scope: '', key: '', seen: { claimId: '', attempt: 0 } }).request;
  return { act, request, filter };
}

/** The work of a job. */
export function recordWork(
  store: StoreOfConsole,
  actor: string,
  { act, request, filter }: AskedJob,
): BulkWork {
  const of = ({ scope, key, claimId, attempt }: Row): ReadAct =>
    readAct({ ...request, scope, key, seen: { claimId, attempt } });
  const to = typeof request['to'] === 'string' ? ` to ${request['to']}` : '';
  return {
    act,
    words: [`${act}${to}`, ...filter.map(wordsOf)].join(' · '),
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
        yield await tried(store, actor, list, of);
        ({ cursor } = list);
      }
    },
  };
}

function objectOf(body: Body, name: string): Body {
  const value = body[name];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  throw new ConsoleFault(400, 'bad-request', `${name} must be an object.`);
}

async function tried(
  store: StoreOfConsole,
  actor: string,
  { rows, looked, passedOver, isCut }: List,
  of: (row: Row) => ReadAct,
): Promise<Bite> {
  const asked = rows.map(of);
  const [first] = asked;
  // Of one answer for all: whether it may stand there clear is asked once a bite.
  if (first !== undefined) await refuseClear(store, first.request);
  const found = await store.find(rows.map(({ scope, key }) => ({ scope, key })));
  const lines: BulkLine[] = [];
  for (const [i, each] of asked.entries())
    lines.push(lineOf(each, await tryAct(holding(found[i] ?? null), actor, each), 'would'));
  return {
    lines,
    looked,
    isCut: isCut || passedOver !== null,
    async perform(by, told, isStopped) {
      for (const [place, each] of asked.entries()) {
        if (isStopped()) return;
        if (lines[place]?.end === 'would') await doOne(store, by, each, (line) => told(place, line));
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

function wordsOf([name, value]: readonly [string, unknown]): string {
  return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
