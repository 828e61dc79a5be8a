/**
 * `bestPending`: IndexedDB, else localStorage, else memory, chosen anew at every write, and said. A fallback never
 * forgets: what one store holds is marked in the others, by its key and digest alone, so that IndexedDB on Monday and
 * localStorage on Tuesday are one key (F128, F134). Memory has all of it for as long as the page lives.
 *
 * Each text has a chain, a number and the last keys of its name before it: of one chain the highest number is the
 * newest, wherever it is, unless it was counted by a tab that did not see what another one had sent meanwhile. What
 * began anew where a mark had been lost has another chain: then what was sent counts before what is done, and that
 * before what never left. Two keys of which both may have run are one row of no key: nobody picks one in silence.
 *
 * Invariants: the first store that takes a write decides by its compare-and-set, the others follow as they can · a
 * store that fails or hangs is passed over, never waited for twice; one that is late is told, once, where no other
 * knows the name · a write that no store takes is in memory.
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
  readonly reading: Lane;
  readonly writing: Lane;
}

/** Apart, since a store that can still be read may let nobody write. */
interface Lane {
  /** How long it is waited for, in milliseconds. */
  patienceMs: number;
  /** An answer has not come in time, nor any since; and somebody was told. */
  late: false | 'late' | 'told';
}

/** What a layer holds; undefined: it cannot be read now. */
type Held = string | null | undefined;

interface Numbered {
  readonly chain: string;
  readonly number: number;
  /** Keys that its writer has seen, the last ones: what it was written over. */
  readonly over: readonly string[];
  readonly text: string;
  readonly row: Row;
}

/** Before a text. */
type Head = [chain: string, number: number, ...over: string[]];

const PATIENCE_MS = 2_000;
/** One that was too slow is not waited for again until an answer of it has come within its time. */
const IMPATIENCE_MS = 50;
const PROBE = 'samekey-probe';
/** So many keys are remembered that were written over. */
const OVER_MAX = 8;

/** Throws `OptionsError`. */
export function bestPending(options: BestPendingOptions = {}): BestPending {
  checkNames(options, ['name', 'onKeptIn']);
  const { name: database, onKeptIn } = options;
  const layers = [
    ...layerOf('indexed-db', () => indexedDbPending(database)),
    ...layerOf('local-storage', localStoragePending),
    ...layerOf('memory', memoryPending),
  ];
  let toldHome: KeptIn | null = null;

  const readAll = (name: string): Promise<Held[]> =>
    Promise.all(layers.map((layer) => within(layer.reading, layer.store.read(name))));

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
      const isTaken = await within(layer.writing, layer.store.swap(name, before, text));
      // What cannot be written over is not read beside it: the next look would find two chains.
      if (isTaken === undefined && before && text && chainOf(before) !== chainOf(text))
        await within(layer.writing, layer.store.swap(name, before, null));
      if (home !== undefined || isTaken === undefined) continue;
      home = layer.keptIn;
      if (!isTaken) return [home, false];
    }
    return [home ?? 'memory', true];
  }

  return {
    async read(name) {
      const before = layers.map(({ reading }) => reading.late);
      const held = await readAll(name);
      const found = newest(held);
      if (found !== null) return found.text;
      for (const [at, { reading }] of layers.entries())
        if (held[at] === undefined && reading.late && before[at] !== 'told') {
          // It alone may know the name. Said once: who calls again wants to go on without it.
          reading.late = 'told';
          throw new Error('Too slow.');
        }
      return null;
    },
    async swap(name, expected, next) {
      const held = await readAll(name);
      const now = newest(held);
      if ((now?.text ?? null) !== expected) return false;
      const all = numberedOf(held);
      const number = Math.max(0, ...all.map((one) => one.number)) + 1;
      const over = new Set(all.flatMap((one) => [one.row.key, ...one.over]));
      const begin = [now?.chain || crypto.randomUUID(), number, ...[...over].slice(0, OVER_MAX)];
      const head = `${JSON.stringify(begin)}\n`;
      const texts = [next && head + next, next && head + markOf(next)] as const;
      const [home, isTaken] = await write(name, held, texts);
      if (!isTaken) return false;
      if (home === toldHome || next === null) return true;
      toldHome = home;
      // A listener that fails must not fail the payment.
      queueMicrotask(() => onKeptIn?.(home));
      return true;
    },
    async rows(prefix) {
      const listed = await Promise.all(
        layers.map((layer) => within(layer.reading, layer.store.rows(prefix))),
      );
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
    return [{ keptIn, store: make(), reading: lane(), writing: lane() }];
  } catch {
    return [];
  }
}

const lane = (): Lane => ({ patienceMs: PATIENCE_MS, late: false });

/** Undefined: it failed, or took too long. */
function within<Value>(waited: Lane, promise: Promise<Value>): Promise<Value | undefined> {
  const begun = performance.now();
  const { patienceMs } = waited;
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      waited.late ||= 'late';
      // Another answer may have come in its time while this one was waited for for less.
      if (patienceMs === PATIENCE_MS) waited.patienceMs = IMPATIENCE_MS;
      resolve(undefined);
    }, patienceMs);
    const heard = (value?: Value): void => {
      clearTimeout(timer);
      waited.late = false;
      if (performance.now() - begun < PATIENCE_MS) waited.patienceMs = PATIENCE_MS;
      resolve(value);
    };
    promise.then(heard, () => heard());
  });
}

/** What is kept in a store that is not the first: who knows it can tell an equal call, and goes on under its key. */
function markOf(text: string): string {
  const row = readRow(text);
  if (row.key === '') return text;
  return JSON.stringify(row.stage === 'settled' ? bareOf(row) : { ...row, request: row.request && LEFT_OUT });
}

const chainOf = (held: string): string => numbered(held).chain;

const numberedOf = (held: readonly Held[]): Numbered[] =>
  held.flatMap((text) => (typeof text === 'string' ? [numbered(text)] : []));

function newest(held: readonly Held[]): Numbered | null {
  const all = numberedOf(held);
  const newestOfEach = all.filter((one) => !all.some((other) => isBehind(one, other)));
  return newestOfEach.reduce<Numbered | null>((best, one) => (best === null ? one : weigh(best, one)), null);
}

/**
 * Whether the other one was written over it, in another store. A higher number alone does not say so where both keys
 * may have run: two tabs that cannot read each other's store count on by themselves.
 */
function isBehind(one: Numbered, other: Numbered): boolean {
  const { key } = one.row;
  if (one.chain !== other.chain || one.number >= other.number) return false;
  return key === other.row.key || weightOf(one.row) < DONE || other.over.includes(key);
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
  const told = [high.number, upper.key, low.number, lower.key];
  const text = JSON.stringify({ ...upper, key: '', digest: '', request: LEFT_OUT, told });
  return { ...high, text, row: readRow(text) };
}

/** By the server's clock, where it is known of both. */
function isAfter(one: Stamp, other: Stamp): boolean {
  return one.server === null || other.server === null ? one.wall > other.wall : one.server > other.server;
}

/** A text without a head is of a store that was used alone. */
function numbered(held: string): Numbered {
  const at = held.indexOf('\n');
  const head = headOf(held.slice(0, at));
  const [chain, number, ...over] = head ?? ['', 0];
  const text = head ? held.slice(at + 1) : held;
  return { chain, number, over, text, row: readRow(text) };
}

/** Null for what is none, whatever it reads as. */
function headOf(text: string): Head | null {
  try {
    const head = JSON.parse(text) as Head;
    return Array.isArray(head) && head[1] > 0 ? head : null;
  } catch {
    return null;
  }
}
