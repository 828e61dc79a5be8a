/**
 * One run of the middleware behind `idempotent`. Koa has one response for all, so whoever runs behind has a view of it
 * of its own while it runs. Once somebody in front writes on the response meanwhile (a time-out that answers), or an
 * attempt is given up, the two part: the handler answers on a stand-in, and that decides the record (F67).
 *
 * Invariants: until they part there is one response of Node · a handler that answers on `res` by itself
 * (`ctx.respond = false`), or has begun to, is not parted from it · code that has lost the asynchronous context counts
 * as in front, and what it answers is never taken for the handler's answer: then nobody knows.
 */

import type { StoredResponse } from '../../core/response.ts';
import { noteDeclared } from '../../http-node/declared.ts';
import type { Hold } from '../../http-node/node-exchange.ts';
import { isBehind, runBehind } from '../../http-node/who-runs.ts';
import { watchWrites } from '../../http-node/watch-writes.ts';
import { answerNow, EMPTY, type KoaContext, putAnswer } from './koa-context.ts';

/** What Koa keeps of an answer beside Node's response. */
interface KoaResponse {
  res: KoaContext['res'];
  readonly _body?: unknown;
  readonly _explicitStatus?: boolean;
}

/** What the middleware in front waits for, and how the middleware behind is run. */
export class Turn {
  readonly ended: Promise<void>;
  readonly #ctx: KoaContext;
  readonly #next: () => Promise<unknown>;
  readonly #tell: (misuse: string) => void;
  #resolve: () => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #handled: Promise<void> = Promise.resolve();
  #hold: Hold | null = null;
  #state: 'waiting' | 'running' | 'over' | 'threw' = 'waiting';
  /** The view of those behind. */
  #inner: KoaResponse | null = null;
  /** What there was before the handler ran. */
  #before: { readonly body: unknown; readonly isSet: unknown; readonly status: number } | null = null;
  #isParted = false;
  #isGiven = false;
  /** The handler answers on `res` by itself. */
  #isDirect = false;
  #thrown: unknown = null;

  constructor(ctx: KoaContext, next: () => Promise<unknown>, tell: (misuse: string) => void = nothing) {
    this.#ctx = ctx;
    this.#next = next;
    this.#tell = tell;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Follows the flow of the request to its end. */
  follow(handled: Promise<void>): void {
    this.#handled = handled;
    void handled.then(() => {
      if (this.#state === 'waiting') this.#resolve();
    });
  }

  hold(hold: Hold): void {
    this.#hold = hold;
  }

  fail(error: unknown): void {
    this.#reject(error);
  }

  next(): void {
    this.#state = 'running';
    if (this.#hold !== null) {
      this.#hearNoConnection();
      void this.#run();
    } else void (async () => this.#next())().then(this.#resolve, this.#reject);
  }

  give(answer: StoredResponse): boolean {
    const isLeft = this.#state === 'threw' || this.#isDirect;
    if (isLeft || (answer.trailers ?? []).length > 0 || isMangled(answer)) return false;
    if (this.#state === 'running' && !this.#part()) return false;
    if (this.#state === 'over' && !this.#isParted && (answer.body === null || this.#hold?.drop() !== true))
      return false;
    this.#isGiven = true;
    if (this.#ctx.res.headersSent) this.#tell(RACED);
    else putAnswer(this.#ctx, answer);
    this.#resolve();
    return true;
  }

  async #run(): Promise<void> {
    const ctx = this.#ctx;
    const { inner, leave } = this.#watch();
    try {
      await runBehind(this, async () => {
        await this.#next();
        if (this.#isParted && this.#isUntouched(inner)) {
          this.#tell(NOT_TOLD);
          ctx.res.destroy();
        } else {
          this.#state = 'over';
          answerNow(ctx);
        }
      });
      if (!this.#isParted) leave();
      if (!this.#isDirect) await this.#handled;
      // It is on its way by Node's own means.
      if (!this.#isGiven && !this.#isParted) ctx.respond = false;
      this.#resolve();
    } catch (error) {
      this.#threw(error, leave);
    }
  }

  #threw(error: unknown, leave: () => void): void {
    const ctx = this.#ctx;
    this.#state = 'threw';
    this.#thrown = error;
    noteDeclared(error, ctx.req, this.#inner?.res ?? ctx.res, nothing);
    // Nobody in front waits for it: it is answered as Koa does.
    if (this.#isParted) runBehind(this, () => ctx.onerror(error as Error));
    const { res: _res, ...own } = this.#inner ?? {};
    leave();
    // What the handler has set so far is still there, as without Samekey.
    if (!this.#isParted) Object.assign(ctx.response, own);
    // Told to koa-compress: what those in front answer is recorded, for clients that may not take its coding.
    (ctx as { compress?: boolean }).compress = false;
    this.#reject(error);
  }

  /** Whether what is answered is the handler's: it has ended, or answers where nobody else does. */
  hasEnded(): boolean {
    return this.#isParted || (this.#state !== 'running' && !this.#isDirect);
  }

  /**
   * Koa answers an error of the connection (a reset) as any other, unless nobody is there to be answered. The response
   * that is held looks open to it: its 500 would be taken for the handler's answer, where that answers by itself.
   */
  #hearNoConnection(): void {
    const ctx = this.#ctx;
    const { onerror } = ctx;
    const own = (error: Error): void => {
      const isOfConnection = error === ctx.req.socket.errored && error !== this.#thrown;
      onerror.call(isOfConnection ? Object.create(ctx, { writable: { value: false } }) : ctx, error);
    };
    define(ctx, 'onerror', { value: own, writable: true });
    void this.#handled.then(() => {
      if (ctx.onerror === own) delete (ctx as Partial<KoaContext>).onerror;
    });
  }

  /** Gives those behind a view of the response, until they leave. */
  #watch(): { readonly inner: KoaResponse; readonly leave: () => void } {
    const { request, res } = this.#ctx;
    const outer = this.#ctx.response as KoaResponse;
    const inner = Object.create(
      Object.getPrototypeOf(outer) as object,
      Object.getOwnPropertyDescriptors(outer),
    ) as KoaResponse;
    this.#inner = inner;
    const { _body: body, _explicitStatus: isSet } = inner;
    this.#before = { body, isSet, status: res.statusCode };
    const isInside = (): boolean => isBehind(this);
    for (const target of [this.#ctx, request]) {
      define(target, 'response', { get: () => (isInside() ? inner : outer) });
      define(target, 'res', { get: () => (isInside() ? inner.res : outer.res) });
    }
    const seen = watchWrites(res, () => void this.#part());
    define(outer, 'res', { get: () => (this.#isParted ? res : seen) });
    let { respond } = this.#ctx;
    define(this.#ctx, 'respond', {
      get: () => (isInside() ? !this.#isDirect : respond),
      set: (value: boolean) => {
        if (isInside()) this.#isDirect = !value;
        else respond = value;
      },
    });
    const leave = (): void => {
      define(this.#ctx, 'respond', { value: respond, writable: true });
      for (const target of [this.#ctx, request]) {
        define(target, 'response', { value: outer, writable: true });
        define(target, 'res', { value: res, writable: true });
      }
      define(outer, 'res', { value: res, writable: true });
    };
    return { inner, leave };
  }

  /** Whether the handler has left nothing on its own side. */
  #isUntouched({ _body: body, _explicitStatus: isSet, res }: KoaResponse): boolean {
    const before = this.#before;
    const isSame = body === before?.body && isSet === before?.isSet && res.statusCode === before?.status;
    return isSame && !res.headersSent && !this.#isDirect;
  }

  /** From now on there are two answers; false if the handler has begun to give one on the response itself. */
  #part(): boolean {
    if (this.#isParted || this.#inner === null) return this.#isParted;
    const late = this.#isDirect ? null : (this.#hold?.part() ?? null);
    if (late === null) return false;
    this.#inner.res = late;
    this.#isParted = true;
    return true;
  }
}

function define(target: object, name: string, property: PropertyDescriptor): void {
  Object.defineProperty(target, name, { configurable: true, enumerable: true, ...property });
}

function nothing(): void {}

const RACED =
  'Something in front of idempotent() answered while the handler was still at work, as a time-out does. The record is decided by what the handler answers. Use attemptTimeMaxMs and the attempt’s signal instead: they also tell the handler to stop.';
const NOT_TOLD =
  'The response was touched in front of idempotent() while the handler was at work, and the handler left no answer of its own: nobody knows whose answer left. Answer in the handler itself, behind its awaits, and not in callbacks of a library that loses the asynchronous context.';

/**
 * What would be another answer if Koa sent it: Node reads the octets of a disposition as UTF-8 once it knows the length
 * of a body, as it does of Koa's; of a status without a body Koa takes the type away; and lines of one name that are
 * set stand together.
 */
function isMangled({ status, headers }: StoredResponse): boolean {
  const names = headers.map(([name]) => name.toLowerCase());
  return headers.some(([, value], at) => {
    const lower = names[at] ?? '';
    if (names.indexOf(lower) < at && names[at - 1] !== lower) return true;
    if (lower === 'content-type') return EMPTY.includes(status);
    // oxlint-disable-next-line no-control-regex
    return lower === 'content-disposition' && /[^\x00-\x7f]/.test(value);
  });
}
