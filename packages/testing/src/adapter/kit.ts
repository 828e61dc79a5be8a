/**
 * What the parts of the adapter contract share: an application under test with a virtual clock, a store that can be made
 * to fail, every event remembered, and counted handlers.
 *
 * Invariants: a test waits for events, probe points and answers, never for time · what a test opened is closed after it.
 */

import type { EventType, SamekeyEvent } from 'samekey/internals/engine/events';
import type { HeaderLine } from 'samekey/internals/core/response';
import { createSamekey, type Samekey, type SamekeyOptions } from 'samekey/internals/samekey';
import { memoryStore } from 'samekey/internals/stores/memory/index';
import { type FakeWorld, fakeWorld } from '../fake-world.ts';
import { type FaultyStore, faultyStore } from '../faulty-store.ts';
import { Connection, type WireAnswer, type WireRequest } from './client.ts';
import type { AdapterHarness, ContractAnswer, ContractHandler, ContractRoute } from './harness.ts';

/** Adds one test. */
export type AddTest = (title: string, body: (t: Bench) => Promise<void>) => void;

/** What one process has beside the bench's store and clock. */
export interface AppOptions {
  readonly routes?: readonly Partial<ContractRoute>[];
  readonly instance?: Partial<SamekeyOptions>;
}

/** One process with its server. */
export interface App {
  readonly samekey: Samekey;
  readonly port: number;
  /** How often handlers have run. */
  readonly runs: number;
  /** Resolves when this type of event has come `count` times; with the last of them. */
  saw<Type extends EventType>(type: Type, count?: number): Promise<Extract<SamekeyEvent, { type: Type }>>;
  /** How often this type of event has come. */
  count(type: EventType): number;
  open(): Connection;
  send(request: WireRequest): Promise<WireAnswer>;
  /** `POST /things` with this key. */
  post(key: string | null, request?: WireRequest): Promise<WireAnswer>;
}

/** One test's place: processes share its store and its clock. */
export interface Bench {
  readonly harness: AdapterHarness;
  readonly world: FakeWorld;
  readonly store: FaultyStore;
  start(options?: AppOptions): Promise<App>;
  /** Lets virtual time pass until the promise is settled. Fails after `mostMs`. */
  passUntil<Value>(promise: Promise<Value>, mostMs?: number): Promise<Value>;
}

/** A door that the test opens. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** Makes a closed gate. */
export function gate(): Gate {
  const locks: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => void locks.push(resolve));
  return { opened, open: () => locks.forEach((unlock) => unlock()) };
}

/** A handler that tells when it started and answers when it is let. */
export function held(answer: ContractAnswer | (() => never)): {
  readonly handler: ContractHandler;
  readonly started: Promise<void>;
  release(): void;
} {
  const start = gate();
  const end = gate();
  return {
    started: start.opened,
    release: end.open,
    async handler() {
      start.open();
      await end.opened;
      return typeof answer === 'function' ? answer() : answer;
    },
  };
}

/** The line of a request that carries the key, in its bare form. */
export function keyLine(key: string): HeaderLine {
  return ['Idempotency-Key', key];
}

const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];

/** A JSON request with this key. */
export function jsonRequest(key: string | null, body: unknown, more: WireRequest = {}): WireRequest {
  const lines = key === null ? [JSON_TYPE] : [JSON_TYPE, keyLine(key)];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { target: '/things', body: text, ...more, headers: [...lines, ...(more.headers ?? [])] };
}

/** Runs a body on a fresh bench. */
export async function onBench(harness: AdapterHarness, body: (t: Bench) => Promise<void>): Promise<void> {
  const world = fakeWorld();
  const store = faultyStore(memoryStore({ now: () => world.wallNow() }), { timers: world });
  const closers: (() => unknown)[] = [];
  const bench: Bench = {
    harness,
    world,
    store,
    async start({ routes = [{}], instance = {} } = {}) {
      const events: SamekeyEvent[] = [];
      let heard = gate();
      let runs = 0;
      const samekey = createSamekey({
        world,
        store,
        ...instance,
        onEvent(event) {
          events.push(event);
          const { open } = heard;
          heard = gate();
          open();
        },
      });
      const served = await harness.serve(
        samekey,
        routes.map((route) => {
          const { handler = numbered, ...rest } = route;
          const counted: ContractHandler = (call) => {
            runs += 1;
            return handler(call);
          };
          return { ...ROUTE, ...rest, handler: counted };
        }),
      );
      const of = (type: EventType): SamekeyEvent[] => events.filter((event) => event.type === type);
      closers.push(() => served.close());
      function numbered(): ContractAnswer {
        return { status: 201, headers: [JSON_TYPE], body: `{"run":${runs}}` };
      }
      const app: App = {
        samekey,
        port: served.port,
        get runs() {
          return runs;
        },
        async saw<Type extends EventType>(type: Type, count = 1) {
          while (of(type).length < count) await heard.opened;
          return of(type)[count - 1] as Extract<SamekeyEvent, { type: Type }>;
        },
        count: (type) => of(type).length,
        open() {
          const connection = new Connection(served.port);
          closers.push(() => connection.hangUp());
          return connection;
        },
        send: (request) => app.open().send(request).answer(request.method),
        post: (key, request = {}) => app.send(jsonRequest(key, { amount: 1 }, request)),
      };
      return app;
    },
    async passUntil(promise, mostMs = 120_000) {
      const state = { isSettled: false };
      const settled = (): void => {
        state.isSettled = true;
      };
      promise.then(settled, settled);
      for (let ms = 0; !state.isSettled; ms += STEP_MS) {
        if (ms > mostMs) throw new Error(`Nothing came of it within ${mostMs} virtual milliseconds.`);
        await world.advance(STEP_MS);
      }
      return promise;
    },
  };
  try {
    await body(bench);
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

/** Fine enough to tell the bounds of the contract apart. */
const STEP_MS = 50;

const ROUTE: Omit<ContractRoute, 'handler'> = {
  method: 'POST',
  mount: '',
  pattern: '/things',
  options: { policy: 'standard' },
  scope: (request) => [request.header('x-account') ?? 'acme'],
  isAllowed: () => true,
  isBodyTaken: false,
};
