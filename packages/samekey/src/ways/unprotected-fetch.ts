/**
 * A help in development: a mutating `fetch` that a handler makes outside of an effect is warned of, once per operation.
 * A later attempt makes such a call again, whatever stands beside it in an effect.
 *
 * Invariants: nothing is patched; it listens to what Node's `fetch` and undici report of each request they create
 * (`undici:request:create`, nodejs.org/api/diagnostics_channel), and knows by the async context whose request it is ·
 * with `NODE_ENV=production`, and in runtimes without these, it does nothing · code outside of handlers, and what a
 * handler leaves behind for later, is never warned of.
 */

import type { Engine } from '../engine/engine.ts';

/** One attempt's handler, watched. */
export interface HandlerWatch {
  /** Runs code of the handler: the whole of it, or the body of a phase. */
  handler<T>(body: () => T): T;
  /** Runs what may call the outside: an effect, or the store. */
  covered<T>(body: () => T): T;
  /** The handler has ended. */
  end(): void;
}

/** What the running code stands in. */
interface Place {
  readonly engine: Pick<Engine, 'misuse'>;
  readonly operation: string;
  readonly covered: boolean;
  /** Shared by the places of one handler. */
  readonly life: { ended: boolean };
}

interface Storage {
  run<T>(place: Place, body: () => T): T;
  getStore(): Place | undefined;
}

/** The parts of Node that are used. */
interface Runtime {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    getBuiltinModule?(name: 'node:async_hooks'): { AsyncLocalStorage: new () => Storage } | undefined;
    getBuiltinModule?(name: 'node:diagnostics_channel'): Channels | undefined;
  };
}

interface Channels {
  subscribe(name: string, listener: (message: unknown) => void): void;
}

const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Watches nothing. */
const BLIND: HandlerWatch = { handler: (body) => body(), covered: (body) => body(), end: () => undefined };

/** Undefined until the first handler runs, null where there is nothing to listen to. */
let storage: Storage | null | undefined;

/** Watches one attempt's handler. */
export function watchHandler(engine: Pick<Engine, 'misuse'>, operation: string): HandlerWatch {
  if (isProduction()) return BLIND;
  storage ??= listen((globalThis as Runtime).process);
  const places = storage;
  if (places === null) return BLIND;
  const life = { ended: false };
  const at = (covered: boolean): Place => ({ engine, operation, covered, life });
  return {
    handler: (body) => places.run(at(false), body),
    covered: (body) => places.run(at(true), body),
    end() {
      life.ended = true;
    },
  };
}

/** Whether `NODE_ENV` says so. Where it may not be read (Deno without `--allow-env`) nobody has said it. */
export function isProduction(): boolean {
  try {
    return (globalThis as Runtime).process?.env?.['NODE_ENV'] === 'production';
  } catch {
    return false;
  }
}

/** Starts to listen, once per process. */
function listen(process: Runtime['process']): Storage | null {
  const hooks = process?.getBuiltinModule?.('node:async_hooks');
  const channels = process?.getBuiltinModule?.('node:diagnostics_channel');
  if (hooks === undefined || channels === undefined) return null;
  const places = new hooks.AsyncLocalStorage();
  channels.subscribe('undici:request:create', (message) => {
    const place = places.getStore();
    if (place === undefined || place.covered || place.life.ended) return;
    const { method, origin } =
      (message as { readonly request?: Partial<Record<string, unknown>> }).request ?? {};
    if (typeof method !== 'string' || !MUTATING.has(method.toUpperCase())) return;
    const { engine, operation } = place;
    engine.misuse(
      'unprotected-call',
      `The handler of "${operation}" sent ${method.toUpperCase()} to ${String(origin)} outside of an effect: the next attempt sends it again. ` +
        'Make the call in attempt.effect(…) of a phased operation, which records it, or enqueue a message for a worker.',
      operation,
    );
  });
  return places;
}
