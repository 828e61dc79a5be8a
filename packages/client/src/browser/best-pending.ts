/**
 * `bestPending`: IndexedDB, else localStorage, else memory, chosen anew at every write, and said. A fallback never
 * forgets: what one store holds is marked in the others, by its key and digest alone, so that IndexedDB on Monday and
 * localStorage on Tuesday are one key (F128, F134). Memory has all of it for as long as the page lives.
 *
 * Each text has a chain and a number before it: of one chain the highest number is the newest, wherever it is. What
 * began anew where a mark had been lost has another chain: then what was sent counts before what is done, and that
 * before what never left. Two keys of which both may have run are one row of no key: nobody picks one in silence.
 *
 * Invariants: the first store that takes a write decides by its compare-and-set, the others follow as they can · a
 * store that fails or hangs is passed over, never waited for twice · a write that no store takes is in memory.
 */

import { checkNames } from '../options.ts';
import { memoryPending } from '../memory.ts';
import type { PendingStore } from '../pending.ts';
import type { Stamp } from '../clock.ts';
import { bareOf, LEFT_OUT, readRow, type Row } from '../row.ts';
import { indexedDbPending } from './indexed-db.ts';
import { localStoragePending } from './local-storage.ts';

/** Where operations are kept: on disk, on disk some seconds later, or until the page goes. */
export type KeptIn = 'indexed-db' | 'local-storage' | 'memory';

/** Options of {@link bestPending}. */
export interface BestPendingOptions {
  /** Of the database; default `samekey`. */
  readonly name?: string;
  /** Told where operations are kept when the first one is written, and when that changes; before a request leaves. */
  readonly onKeptIn?: (keptIn: KeptIn) => void;
}

/** The best store that there is, and which it is. */
export interface BestPending extends PendingStore {
  /** Tries it out. */
  keptIn(): Promise<KeptIn>;
}

interface Layer {
  readonly keptIn: KeptIn;
  readonly store: PendingStore;
  /** How long it is waited for, in milliseconds. */
  patienceMs: number;
}

/** What a layer holds; undefined: it cannot be read now. */
type Held = string | null | undefined;

interface Numbered {
  readonly chain: string;
  readonly number: number;
  readonly text: string;
  readonly row: Row;
}

const PATIENCE_MS = 2_000;
/** One that was too slow once is not waited for again. */
const IMPATIENCE_MS = 50;
const PROBE = 'samekey-probe';

/** Throws `OptionsError`. */
export function bestPending(options: BestPendingOptions = {}): BestPending {
  checkNames(options, ['name', 'onKeptIn']);
  const { name: database, onKeptIn } = options;
  const layers = [
    ...layerOf('indexed-db', () => indexedDbPending(database)),
    ...layerOf('local-storage', localStoragePending),
    ...layerOf('memory', memoryPending),
  ];
  let told: KeptIn | null = null;

  const readAll = (name: string): Promise<Held[]> =>
    Promise.all(layers.map((layer) => within(layer, layer.store.read(name))));

  /** Writes where it can; which was the first one that could, and whether it has taken it. */
  async function write(
    name: string,
    held: readonly Held[],
    texts: readonly [whole: string | null, mark: string | null],
  ): Promise<readonly [home: KeptIn, isTaken: boolean]> {
    let home: KeptIn | undefined;
    for (const [at, layer] of layers.entries()) {
      const before = held[at];
      if (before === undefined) continue;
      const text = home === undefined || layer.keptIn === 'memory' ? texts[0] : texts[1];
      const isTaken = await within(layer, layer.store.swap(name, before, text));
      // What cannot be written over is not read beside it: the next look would find two chains.
      if (isTaken === undefined && before !== null && text !== null && chainOf(before) !== chainOf(text))
        await within(layer, layer.store.swap(name, before, null));
      if (home !== undefined || isTaken === undefined) continue;
      home = layer.keptIn;
      if (!isTaken) return [home, false];
    }
    return [home ?? 'memory', true];
  }

  return {
    read: async (name) => newest(await readAll(name))?.text ?? null,
    async swap(name, expected, next) {
      const held = await readAll(name);
      const now = newest(held);
      if ((now?.text ?? null) !== expected) return false;
      const head = `${now?.chain || crypto.randomUUID()} ${(now?.number ?? 0) + 1} `;
      const texts = [next && head + next, next && head + markOf(next)] as const;
      const [home, isTaken] = await write(name, held, texts);
      if (!isTaken) return false;
      if (home === told || next === null) return true;
      told = home;
      // A listener that fails must not fail the payment.
      queueMicrotask(() => onKeptIn?.(home));
      return true;
    },
    async rows(prefix) {
      const listed = await Promise.all(layers.map((layer) => within(layer, layer.store.rows(prefix))));
      const all = new Map<string, Held[]>();
      for (const [at, rows] of listed.entries())
        for (const [name, text] of rows ?? []) {
          const held = all.get(name) ?? [];
          held[at] = text;
          all.set(name, held);
        }
      return [...all].map(([name, held]) => [name, newest(held)?.text ?? ''] as const);
    },
    async keptIn() {
      const [home] = await write(PROBE, await readAll(PROBE), ['probe', 'probe']);
      await write(PROBE, await readAll(PROBE), [null, null]);
      return home;
    },
  };
}

/** None where the platform has none, or refuses it (a sandboxed frame). */
function layerOf(keptIn: KeptIn, make: () => PendingStore): Layer[] {
  try {
    return [{ keptIn, store: make(), patienceMs: PATIENCE_MS }];
  } catch {
    return [];
  }
}

/** Undefined: it failed, or took too long. */
async function within<Value>(layer: Layer, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      layer.patienceMs = IMPATIENCE_MS;
      resolve(undefined);
    }, layer.patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** What is kept in a store that is not the first: who knows it can tell an equal call, and goes on under its key. */
function markOf(text: string): string {
  const row = readRow(text);
  if (row.key === '') return text;
  return JSON.stringify(row.stage === 'settled' ? bareOf(row) : { ...row, request: row.request && LEFT_OUT });
}

const chainOf = (held: string): string => numbered(held).chain;

function newest(held: readonly Held[]): Numbered | null {
  const all = held.flatMap((text) => (text === null || text === undefined ? [] : [numbered(text)]));
  const newestOfEach = all.filter((one) => !all.some((other) => isBehind(one, other)));
  return newestOfEach.reduce<Numbered | null>((best, one) => (best === null ? one : weigh(best, one)), null);
}

/** Whether the other one was written over it, in another store. */
function isBehind(one: Numbered, other: Numbered): boolean {
  return one.chain === other.chain && one.number < other.number;
}

/** What was sent may be done, and weighs most; what is done, more than what never left. */
const SENT = 3;
const DONE = 2;

function weightOf(row: Row): number {
  if (row.stage !== 'settled') return row.stage === 'sent' ? SENT : 1;
  return row.answer?.outcome === 'done' ? DONE : 0;
}

/** Of two chains. Two keys of which both may have run are told to a person: to go on with one may be a second time. */
function weigh(one: Numbered, other: Numbered): Numbered {
  const [high, low] = weightOf(one.row) < weightOf(other.row) ? [other, one] : [one, other];
  const [upper, lower] = [high.row, low.row];
  const isSame = upper.key === lower.key;
  if (lower.stage === 'settled') {
    if (upper.stage === 'settled')
      return weightOf(upper) === weightOf(lower) && isAfter(lower.settled, upper.settled) ? low : high;
    if (weightOf(lower) < DONE) return high;
    if (isSame) return low;
    // It was over before the other one began: that is a later payment.
    if (isAfter(upper.created, lower.settled)) return high;
  } else if (isSame || lower.stage === 'new') return high;
  const told = [high, low].map(({ chain, number, row }) => `${chain} ${number} ${row.key}`);
  const text = JSON.stringify({ ...upper, key: '', digest: '', request: LEFT_OUT, told });
  return { ...high, text, row: readRow(text) };
}

/** By the server's clock, where it is known of both. */
function isAfter(one: Stamp, other: Stamp): boolean {
  return one.server === null || other.server === null ? one.wall > other.wall : one.server > other.server;
}

/** A text without a head is of a store that was used alone. */
function numbered(held: string): Numbered {
  const [, chain = '', number = '0', text = held] = /^([\w-]+) (\d+) ([^]*)$/.exec(held) ?? [];
  return { chain, number: Number(number), text, row: readRow(text) };
}
