/**
 * An exchange on `node:http`, shared by the adapters of the frameworks that stand on it. It converts and decides
 * nothing.
 */

import { OptionsError } from '../core/errors.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Attempt, HeardAttempt } from '../engine/attempt.ts';
import { registered } from '../core/registered.ts';
import type { MatchedRoute } from '../core/operation.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { BodyRead, Exchange, ExchangeHost, HandlerEnd, HttpRequest } from '../http/exchange.ts';
import { KeptCopy, tellNoRoom } from '../http/kept-copy.ts';
import { isFinalStatus, type Route } from '../http/route.ts';
import { mayBeTimeout } from './afterwards.ts';
import { readBody } from './body.ts';
import type { KeptBody } from './keep-body.ts';
import { type Capture, type CapturedAnswer, type CaptureEnd, captureResponse } from './capture.ts';
import { headerLines, requestTarget } from './node-request.ts';
import { sendAnswer } from './send-held.ts';

/** What a framework that sends answers by itself may do with a response that is held; as in `Capture`. */
export interface Hold {
  drop(): boolean;
  part(): ServerResponse | null;
}

/** What the framework knows beside the request, and does when it goes on. */
interface NodeFlow<Native> {
  /** The framework's own request: scope functions get it. */
  readonly native: Native;
  /** As {@link HttpRequest.route}. */
  readonly route: MatchedRoute | null;
  /** Headers that the framework still keeps to itself: they belong to the request as those on the response do. */
  readonly headers?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  /** Hands the request to what comes after Samekey, once. */
  next(): void;
  /** Hands an error to the framework. */
  fail(error: unknown): void;
  /** Tells the framework that the response is answered without it. */
  take?(): void;
  /** Given the hold on the response, before `next`. */
  hold?(hold: Hold): void;
  /** Gives an answer to the framework, which sends it by itself; false: it is to be sent here. */
  give?(answer: StoredResponse): boolean;
  /** Whether the handler is known to have ended, so that the answer is its own. */
  hasEnded?(): boolean;
  /** Whether the framework will answer all the same: what it says then reaches nobody. */
  readonly isAnsweredAnyway?: boolean;
  /** Whether it asks the request’s socket, too, if the client is still there (F17). */
  readonly asksRequestSocket?: boolean;
}

/** One request and its answer. */
export class NodeExchange<Native> implements Exchange<Native> {
  readonly request: HttpRequest;
  readonly native: Native;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #flow: NodeFlow<Native>;
  readonly #route: Route<Native>;
  readonly #host: ExchangeHost;
  #isBroken = false;
  #late: ((end: HandlerEnd) => void) | null = null;
  #ended: StoredResponse | null = null;
  #capture: Capture | null = null;
  #body: KeptBody | null = null;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    route: Route<Native>,
    host: ExchangeHost,
    flow: NodeFlow<Native>,
  ) {
    const { path, query } = requestTarget(req);
    this.native = flow.native;
    this.#req = req;
    this.#res = res;
    this.#flow = flow;
    this.#route = route;
    this.#host = host;
    this.request = {
      method: req.method ?? 'GET',
      path,
      query,
      route: flow.route,
      headerLines: (name) => headerLines(req, name),
    };
  }

  async readBody(sizeMaxBytes: number): Promise<BodyRead> {
    // Its requests tell neither by a length nor by a coding whether they have a body.
    if (isOfHttp2(this.#req)) throw new OptionsError(NO_HTTP2);
    const read = await readBody(this.#req, { requestSizeMaxBytes: sizeMaxBytes });
    // What was not read of it would be taken for the next request on this connection.
    if (read.kind === 'too-large') this.#res.setHeader('Connection', 'close');
    if (read.kind === 'body') this.#body = read.kept;
    return read;
  }

  /** What was read of the body is for who comes next. */
  lendBody(): void {
    this.#body?.lend();
  }

  pass(): void {
    this.#body?.lend();
    this.#flow.next();
  }

  async run(attempt: HeardAttempt): Promise<HandlerEnd> {
    if (this.#res.headersSent) {
      // Something in front has answered while the key was claimed: nothing has run, and nobody would get the answer.
      attempt.notExecuted();
      return { kind: 'silent', error: new Error('The response was answered before the handler could run.') };
    }
    const capture = this.#hold(attempt);
    if (this.#flow.asksRequestSocket === true) {
      const [req, res] = [this.#req, this.#res];
      const { socket } = req;
      // What the response shows: open, until the answer has been let go.
      Object.defineProperty(req, 'socket', {
        configurable: true,
        enumerable: true,
        get: () => res.socket ?? socket,
      });
    }
    attempts.set(this.#req, attempt);
    this.#body?.lend();
    this.#flow.hold?.(capture);
    this.#flow.next();
    const end = await capture.ended;
    if (end.kind === 'answer') {
      this.#ended = stored(end);
      const isPerhapsAnothers = mayBeTimeout(end.status) && this.#flow.hasEnded?.() !== true;
      return { kind: 'answered', answer: this.#ended, isPerhapsAnothers };
    }
    if (end.answer === null) return { kind: 'silent', error: end.error };
    this.#isBroken = true;
    return { kind: 'answered', answer: stored(end.answer) };
  }

  /** `attempt`: null for an answer that is no attempt's. */
  #hold(attempt: HeardAttempt | null): Capture {
    const { responseSizeMaxBytes, bufferTimeMaxMs } = this.#route;
    const { world, kept, emit } = this.#host;
    this.#capture = captureResponse(this.#res, {
      outer: this.#flow.headers,
      responseSizeMaxBytes,
      bufferTimeMaxMs,
      setTimer: (delayMs, callback) => world.setTimer(delayMs, callback),
      newCopy: () =>
        new KeptCopy({
          responseSizeMaxBytes,
          budget: kept,
          onNoRoom: () => attempt !== null && tellNoRoom(emit, attempt),
        }),
      onLateAnswer: (late) => this.#tellLate(late),
      isDecidedEarly: (status) => attempt?.hasSpoken === false && isFinalStatus(this.#route, status),
    });
    return this.#capture;
  }

  onLateAnswer(tell: (end: HandlerEnd) => void): void {
    this.#late = tell;
  }

  #tellLate(end: CaptureEnd): void {
    // What gives up or fails says nothing that the record does not say already.
    if (end.kind !== 'answer' || end.status >= 500 || end.status === 408) return;
    this.#host.misuse('answered-twice', ANSWERED_TWICE);
    this.#late?.({ kind: 'answered', answer: stored(end) });
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  answerSoFar(): StoredResponse | null {
    const head = this.#capture?.headAnswer() ?? null;
    // A head that is still held has told nobody anything: the handler may yet change its mind.
    return head?.streamed === true && this.#res.headersSent ? stored(head) : null;
  }

  release(extra: readonly HeaderLine[]): void {
    const ended = this.#ended;
    if (ended !== null && this.#flow.give !== undefined) {
      const isGiven = this.#flow.give({ ...ended, headers: [...ended.headers, ...extra] });
      if (isGiven) return;
    }
    this.#capture?.release(extra);
  }

  replace(answer: StoredResponse): void {
    if (this.#capture === null) this.#body?.drop();
    if (this.#flow.give?.(answer) === true) return;
    if (this.#capture !== null) return this.#capture.replace(answer);
    if (this.#res.headersSent) return;
    if (this.#flow.isAnsweredAnyway === true) return this.#hold(null).replace(answer);
    this.#flow.take?.();
    for (const [name, value] of Object.entries(this.#flow.headers ?? {}))
      if (value !== undefined) this.#res.setHeader(name, value);
    sendAnswer(this.#res, answer);
  }

  fail(error: unknown): void {
    // Once the handler has begun to answer there is no clean way to answer in its place.
    if (this.#capture === null) {
      this.#body?.lend();
      if (!this.#res.headersSent) this.#flow.fail(asError(error));
    } else this.#capture.destroy();
  }
}

/**
 * What is handed to a framework as an error. Chains of `next` take what is falsy for "go on", and Express `'route'` for
 * "skip me": a scope function that throws such a thing must not let the request run unprotected.
 */
export function asError(thrown: unknown): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new TypeError('What was thrown is no error.', { cause: thrown });
}

/**
 * Makes tables of a request and its answer, for frameworks that give each of them another prototype, as Express does.
 * V8 then shares nothing between them: every read by code of Node, of the framework and of Samekey misses its cache,
 * and every property added makes a hidden class of its own (some 2 µs each). As tables they are alike again; the
 * sooner, the more of what follows is cheap. No property is lost or changed, at most their order is.
 */
export function asTables(req: IncomingMessage, res: ServerResponse): void {
  putBack(req, 'upgrade');
  putBack(res, 'sendDate');
}

/** V8 makes a table of an object that loses a property which is not its last. */
function putBack(target: object, name: string): void {
  const property = Object.getOwnPropertyDescriptor(target, name);
  if (property?.configurable === true && Reflect.deleteProperty(target, name))
    Object.defineProperty(target, name, property);
}

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

const ANSWERED_TWICE =
  'A handler answered after something else had answered for it, as a time-out does: its answer came too late for the client, and the key may have run again meanwhile. Use attemptTimeMaxMs and the attempt’s signal instead: then the key is held, and the handler is told to stop.';

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(req: IncomingMessage): Attempt | null {
  return attempts.get(req) ?? null;
}

function stored({ status, headers, body, trailers }: CapturedAnswer): StoredResponse {
  return trailers.length === 0 ? { status, headers, body } : { status, headers, body, trailers };
}

/** Not by the version: a request of HTTP/1 may say any, and is read all the same. */
function isOfHttp2(req: IncomingMessage): boolean {
  return 'stream' in req;
}

const NO_HTTP2 =
  'This door protects servers of HTTP/1.1, and the request came by HTTP/2, whose answers are of another class: end HTTP/2 in front of it.';
