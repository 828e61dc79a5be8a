/**
 * One process of an installation under test: an engine in virtual time, on a connection that can be told to misbehave, asked as
 * an adapter would ask it.
 */

import type { Attempt, Ending } from 'samekey/internals/engine/attempt';
import type { Engine } from 'samekey/internals/engine/engine';
import type { SamekeyEvent, StoreVerb } from 'samekey/internals/engine/events';
import { namesOldestFirst } from 'samekey/internals/core/operation';
import type { Outcome } from 'samekey/internals/core/outcome';
import type { RecordId } from 'samekey/internals/core/record';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import { encodeScope } from 'samekey/internals/core/scope';
import { type OperationOptions, resolveSettings } from 'samekey/internals/core/settings';
import type { Store } from 'samekey/internals/store/store';
import type { Handler, Work } from 'samekey/internals/engine/work';
import type { ProbePoint } from 'samekey/internals/core/world';
import { createSamekey, internalsOf, type Samekey, type SamekeyOptions } from 'samekey/internals/samekey';
import { type FakeWorld, FAKE_WALL_START, fakeWorld } from '../fake-world.ts';
import { type FaultKind, type FaultyStore, faultyStore, type Passage, passageOf } from '../faulty-store.ts';
import type { Timeline } from '../timeline.ts';
import { createSignal } from './signals.ts';

/** A request as an adapter would have read it; all members have defaults. */
export interface EngineRequest extends OperationOptions {
  readonly operation?: string;
  readonly formerly?: readonly string[];
  readonly scope?: readonly string[];
  readonly key?: string;
  readonly body?: string;
  /** As {@link Work.entry}; default `run`. */
  readonly entry?: Work['entry'];
  /** Kept with the record, as that of phased and deferred operations; default none. */
  readonly input?: string;
}

/** What the application does for a request: an answer, or any other end. */
export type EngineHandler = (attempt: Attempt) => Promise<StoredResponse | Ending> | StoredResponse | Ending;

/** A place in the engine at which a process is held. */
export interface Hold {
  /** Resolves when it has come there. */
  readonly reached: Promise<void>;
  release(): void;
}

/** One process. */
export interface EngineNode {
  readonly world: FakeWorld;
  readonly samekey: Samekey;
  readonly engine: Engine;
  readonly store: FaultyStore;
  readonly events: readonly SamekeyEvent[];
  /** A request arrives; the default handler answers 201 with the number of the run. */
  ask(request?: EngineRequest, handler?: EngineHandler): Promise<Outcome>;
  /** From now on every such call of this process meets the fault, until `heal`. */
  fail(verbs: readonly StoreVerb[], fault: FaultKind, options?: { readonly silent?: boolean }): void;
  heal(): void;
  /** How many calls of the store this process has made. */
  readonly calls: number;
  /** The call of this number, from 1 and of whatever verb, travels so, and `count - 1` after it. */
  strike(number: number, passage: Passage, count?: number): void;
  /** Holds the first that comes to the place. */
  holdAt(point: ProbePoint): Hold;
  /** Resolves after virtual time of this process. */
  sleep(ms: number): Promise<void>;
}

export const CLAIM_TTL_MS = 10_000;
export const RETENTION_MS = 200_000;
export const STORE_TIME_MAX_MS = 2_000;
const PENDING_TIME_MAX_MS = 3_600_000;
export const JSON_TYPE = [['content-type', 'application/json']] as const;

const DEFAULTS = {
  policy: 'standard',
  claimTtlMs: CLAIM_TTL_MS,
  retentionMs: RETENTION_MS,
  storeTimeMaxMs: STORE_TIME_MAX_MS,
} as const;
const OPERATION = 'POST /payments';

/** Where a request's record is kept. */
export function idOf({ operation, formerly, scope, key }: EngineRequest = {}): RecordId {
  const [name = OPERATION] = namesOldestFirst({ name: operation ?? OPERATION, formerly: formerly ?? [] });
  return { scope: encodeScope(scope ?? ['tenant-1'], name), key: key ?? 'key-1' };
}

/** What a process stands on. */
export interface NodeParts {
  /** From 1; its clocks have nothing in common with those of others. */
  readonly number: number;
  readonly timeline: Timeline;
  /** Its handle on the store. */
  readonly store: Store;
  readonly wallOffsetMs: number;
  readonly options: Partial<SamekeyOptions>;
  /** Counts a run of a handler and gives its number. */
  readonly count: () => number;
}

interface Failing {
  readonly verbs: readonly StoreVerb[];
  readonly fault: FaultKind;
  readonly silent: boolean;
}

function refingerprint(): undefined {
  return undefined;
}

/** Starts a process. */
export function createNode({
  number,
  timeline,
  wallOffsetMs,
  options,
  count,
  ...parts
}: NodeParts): EngineNode {
  const holds = new Map<ProbePoint, () => Promise<void>>();
  const world = fakeWorld({
    name: `process-${number}`,
    timeline,
    wallStart: FAKE_WALL_START + wallOffsetMs,
    // Each counts from a zero of its own.
    monotonicStart: number * 1_000_000,
    probe: (point) => holds.get(point)?.(),
  });
  let failing: Failing | null = null;
  let calls = 0;
  let struck: { readonly from: number; readonly to: number; readonly passage: Passage } | null = null;
  const store = faultyStore(parts.store, {
    timers: timeline,
    callerTimers: world,
    plan({ verb }) {
      calls += 1;
      if (struck !== null && calls >= struck.from && calls < struck.to) return struck.passage;
      return failing?.verbs.includes(verb) === true
        ? passageOf(failing.fault, { silent: failing.silent })
        : null;
    },
  });
  const events: SamekeyEvent[] = [];
  const samekey = createSamekey({
    ...DEFAULTS,
    store,
    world,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  const { engine, defaults } = internalsOf(samekey);

  async function workOf(request: EngineRequest): Promise<Work> {
    const { operation = OPERATION, formerly = [], scope, key, body = '{"amount":1}', ...rest } = request;
    const { entry = 'run', input, ...own } = rest;
    const digest = await world.sha256(new TextEncoder().encode(body));
    const fingerprint = { label: 'contract', digest };
    const [, ...younger] = namesOldestFirst({ name: operation, formerly });
    const work = {
      operation,
      input: input === undefined ? null : new TextEncoder().encode(input),
      entry,
      pendingTimeMaxMs: PENDING_TIME_MAX_MS,
      id: idOf(request),
      fingerprint,
      refingerprint,
      younger: younger.map((name) => ({
        id: idOf({ operation: name, ...(scope && { scope }), ...(key && { key }) }),
        fingerprint,
        refingerprint,
      })),
      settings: resolveSettings(defaults, own),
    } as const;
    return work;
  }

  return {
    world,
    samekey,
    engine,
    store,
    events,
    async ask(request = {}, handler = () => response(201, JSON_TYPE, `{"run":${count()}}`)) {
      return engine.run(await workOf(request), asHandler(handler));
    },
    fail(verbs, fault, { silent = false } = {}) {
      failing = { verbs, fault, silent };
    },
    heal() {
      failing = null;
    },
    get calls() {
      return calls;
    },
    strike(from, passage, times = 1) {
      struck = { from, to: from + times, passage };
    },
    holdAt(point) {
      const reached = createSignal();
      const gone = createSignal();
      holds.set(point, () => {
        holds.delete(point);
        reached.send();
        return gone.sent;
      });
      return { reached: reached.sent, release: () => gone.send() };
    },
    sleep: (ms) => new Promise((resolve) => void world.setTimer(ms, resolve)),
  };
}

function asHandler(handler: EngineHandler): Handler {
  return {
    async start(attempt) {
      try {
        const ended = await handler(attempt);
        return 'kind' in ended ? ended : { kind: 'answered', response: ended };
      } catch (error) {
        return { kind: 'threw', error, response: response(500) };
      }
    },
  };
}
