/**
 * Who answers: the chain behind `idempotent`, or somebody in front of it. A middleware in front may race the chain
 * (`hono/timeout`) and answer in its place while the handler is still at work; and an attempt that is given up is
 * answered by us. Both write into the one context that the handler answers in, and Hono drops an answer that comes
 * second. So from the first such moment the context is two: whoever runs behind `idempotent` sees and sets the
 * handler's answer, everybody else the other one (F67).
 *
 * Invariants: the answer of a turn is what the chain behind has set, whatever was set in front · until somebody else
 * answers the context is Hono's own · who runs where is told by the platform's asynchronous context. Hono's own code
 * sets the answer in the function that has awaited the handler, so a library that loses the context loses nothing here.
 */

import type { HonoContext } from './hono-context.ts';

interface Storage {
  run<Returned>(store: object, fn: () => Returned): Returned;
  getStore(): object | undefined;
}

/** Null where the platform tells nobody which asynchronous context it is in. */
const storage: Storage | null = findStorage();

/** Whether this runtime tells who answers. */
export function tellsWhoAnswers(): boolean {
  return storage !== null;
}

/** Not by an import: this adapter also runs where there is nothing of Node. */
function findStorage(): Storage | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): { AsyncLocalStorage?: new () => Storage } | undefined };
  };
  const found = process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage;
  return found === undefined ? null : new found();
}

/** Methods of a context that look at the answer it holds, without asking for `c.res`. */
const METHODS = ['header', 'body', 'text', 'json', 'html', 'newResponse', 'redirect'] as const;

type Methods = Record<(typeof METHODS)[number], (...args: unknown[]) => unknown>;

interface Answer {
  get(): Response;
  set(response: Response | undefined): void;
}

/** One run of the chain behind `idempotent`. */
export class Turn {
  /** Whether somebody in front has answered before the chain had. */
  isRaced = false;
  readonly #c: HonoContext;
  readonly #answer: Answer | null;
  #isOver = false;
  /** We are setting the answer. */
  #isOurs = false;
  /** The context holds the chain's answer for the length of one call, or is being made to. */
  #isSwapped = false;
  /** Hono's own flag. */
  #isFinalized: boolean;
  /** The chain's side of the context, once there are two. */
  #inner: { isFinalized: boolean; res: Response | undefined } | null = null;

  constructor(c: HonoContext) {
    this.#c = c;
    this.#isFinalized = c.finalized;
    const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(c), 'res');
    // A Hono that keeps its answer otherwise: who answers is not seen.
    const isKnown = storage !== null && own?.get !== undefined && own.set !== undefined;
    this.#answer = isKnown
      ? { get: () => own.get?.call(c) as Response, set: (response) => own.set?.call(c, response) }
      : null;
  }

  /**
   * Runs the chain; resolves with what it has answered, null for nothing. Undefined: who has answered cannot be told.
   */
  async run(next: () => Promise<void>): Promise<Response | null | undefined> {
    const c = this.#c;
    const answer = this.#answer;
    if (storage === null || answer === null) {
      await next();
      this.#isOver = true;
      if (this.#isOurs) return undefined;
      return c.finalized ? c.res : null;
    }
    this.#watch(answer);
    try {
      await storage.run(this, next);
    } finally {
      this.#isOver = true;
      if (this.#inner === null) this.#unwatch();
    }
    const inner = this.#inner;
    if (inner === null) return c.finalized ? c.res : null;
    return inner.isFinalized ? (inner.res ?? null) : null;
  }

  /** Our answer, for whoever is in front. */
  setOurs(set: () => void): void {
    this.#isOurs = !this.#isOver;
    set();
  }

  #isInside(): boolean {
    return storage?.getStore() === this;
  }

  #watch(answer: Answer): void {
    Object.defineProperty(this.#c, 'finalized', {
      configurable: true,
      enumerable: true,
      get: () => this.#innerHere()?.isFinalized ?? this.#isFinalized,
      set: (value: boolean) => {
        if (this.#isSwapped) return;
        const inner = this.#innerHere();
        if (inner === null) this.#isFinalized = value;
        else inner.isFinalized = value;
      },
    });
    Object.defineProperty(this.#c, 'res', {
      configurable: true,
      get: () => {
        const inner = this.#innerHere();
        return inner === null ? answer.get() : (inner.res ??= new Response(null));
      },
      set: (response: Response | undefined) => {
        if (!this.#isOver && this.#inner === null && !this.#isInside()) this.#part(answer);
        const inner = this.#innerHere();
        if (inner === null) {
          answer.set(response);
          return;
        }
        inner.res = response === undefined ? undefined : merged(inner.res, response);
        inner.isFinalized = true;
      },
    });
  }

  /** The chain's side, for who runs on it; null for everybody else, and while there is but one. */
  #innerHere(): { isFinalized: boolean; res: Response | undefined } | null {
    return this.#inner !== null && this.#isInside() ? this.#inner : null;
  }

  #unwatch(): void {
    Reflect.deleteProperty(this.#c, 'res');
    Object.defineProperty(this.#c, 'finalized', {
      value: this.#isFinalized,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }

  /** Somebody in front answers: from now on there are two. */
  #part(answer: Answer): void {
    if (!this.#isOurs) this.isRaced = true;
    const isFinalized = this.#isFinalized;
    const inner = { isFinalized, res: isFinalized ? answer.get() : undefined };
    this.#inner = inner;
    const methods = this.#c as unknown as Methods;
    for (const name of METHODS) {
      const own = methods[name];
      if (typeof own !== 'function') continue;
      methods[name] = (...args) => {
        if (this.#isSwapped || !this.#isInside()) return own(...args);
        const outer = answer.get();
        this.#isSwapped = true;
        answer.set(undefined);
        if (inner.res !== undefined) answer.set(inner.res);
        try {
          return own(...args);
        } finally {
          if (inner.res !== undefined) inner.res = answer.get();
          answer.set(undefined);
          answer.set(outer);
          this.#isSwapped = false;
        }
      };
    }
  }
}

/** As Hono does it: headers that were set before stay. */
function merged(before: Response | undefined, response: Response): Response {
  if (before === undefined) return response;
  const made = new Response(response.body, response);
  for (const [name, value] of before.headers) {
    if (name !== 'content-type' && name !== 'set-cookie') made.headers.set(name, value);
  }
  for (const cookie of before.headers.getSetCookie()) made.headers.append('set-cookie', cookie);
  return made;
}
