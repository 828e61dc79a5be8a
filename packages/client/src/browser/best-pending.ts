/**
 * `bestPending`: IndexedDB, else localStorage, else memory, chosen anew at every write, and said. A fallback never
 * forgets: what one store holds is marked in the others, by its key and digest alone, so that IndexedDB on Monday and
 * localStorage on Tuesday are one key (F128, F134). Memory has all of it for as long as the page lives.
 *
 * Each text has a chain and a number before it: of one chain the highest number is the newest, wherever it is. What
 * began anew where a mark had been lost has another chain: then what is open counts before what is settled.
 *
 * Invariants: the first store that takes a write decides by its compare-and-set, the others follow as they can · a
 * store that fails or hangs is passed over, never waited for twice · a write that no store takes is in memory.
 */

import { checkNames } from '../options.ts';
import { memoryPending, type PendingStore } from '../pending.ts';
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
  checkNames(options, (name) => name === 'name' || name === 'onKeptIn');
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

function newest(held: readonly Held[]): Numbered | null {
  let best: Numbered | null = null;
  for (const text of held) {
    if (text === null || text === undefined) continue;
    const one = numbered(text);
    if (best === null || isBefore(one, best)) best = one;
  }
  return best;
}

function isBefore(one: Numbered, best: Numbered): boolean {
  if (one.chain === best.chain) return one.number > best.number;
  if (one.row.key === best.row.key && (one.chain === '' || best.chain === '')) return best.chain === '';
  return best.row.stage === 'settled' && one.row.stage !== 'settled';
}

/** A text without a head is of a store that was used alone: the oldest one of its key. */
function numbered(held: string): Numbered {
  const [, chain = '', number = '0', text = held] = /^([\w-]+) (\d+) ([^]*)$/.exec(held) ?? [];
  return { chain, number: Number(number), text, row: readRow(text) };
}
