/**
 * An exchange on `node:http`, shared by the adapters of the frameworks that stand on it. It converts and decides nothing.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Attempt } from '../core/attempt.ts';
import { registered } from '../core/registered.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { BodyRead, Exchange, ExchangeHost, HandlerEnd, HttpRequest } from '../http/exchange.ts';
import { KeptCopy, tellNoRoom } from '../http/kept-copy.ts';
import { isFinalStatus, type Route } from '../http/route.ts';
import { readBody } from './body.ts';
import { type Capture, type CapturedAnswer, captureResponse } from './capture.ts';
import { headerLines, requestTarget } from './request.ts';
import { sendAnswer } from './send.ts';

/** What the framework does when it goes on. */
export interface NodeFlow {
  /** The route's pattern, if the framework has matched one. */
  readonly routePattern: string | null;
  /** Hands the request to what comes after Samekey, once. */
  next(): void;
  /** Hands an error to the framework. */
  fail(error: unknown): void;
}

/** One request and its answer. */
export class NodeExchange<Request extends IncomingMessage> implements Exchange<Request> {
  readonly request: HttpRequest;
  readonly native: Request;
  readonly #res: ServerResponse;
  readonly #flow: NodeFlow;
  readonly #route: Route<Request>;
  readonly #host: ExchangeHost;
  #isBroken = false;
  #capture: Capture | null = null;

  constructor(req: Request, res: ServerResponse, route: Route<Request>, host: ExchangeHost, flow: NodeFlow) {
    const { path, query } = requestTarget(req);
    this.native = req;
    this.#res = res;
    this.#flow = flow;
    this.#route = route;
    this.#host = host;
    this.request = {
      method: req.method ?? 'GET',
      path,
      query,
      routePattern: flow.routePattern,
      headerLines: (name) => headerLines(req, name),
    };
  }

  async readBody(sizeMaxBytes: number): Promise<BodyRead> {
    const read = await readBody(this.native, { requestSizeMaxBytes: sizeMaxBytes });
    // What was not read of it would be taken for the next request on this connection.
    if (read.kind === 'too-large') this.#res.setHeader('Connection', 'close');
    return read;
  }

  pass(): void {
    this.#flow.next();
  }

  async run(attempt: Attempt): Promise<HandlerEnd> {
    const capture = captureResponse(this.#res, {
      responseSizeMaxBytes: this.#route.responseSizeMaxBytes,
      bufferTimeMaxMs: this.#route.bufferTimeMaxMs,
      setTimer: (delayMs, callback) => this.#host.world.setTimer(delayMs, callback),
      newCopy: () =>
        new KeptCopy({
          responseSizeMaxBytes: this.#route.responseSizeMaxBytes,
          budget: this.#host.kept,
          onNoRoom: () => tellNoRoom(this.#host.emit, attempt),
        }),
      isDecidedEarly: (status) => isFinalStatus(this.#route, status),
    });
    this.#capture = capture;
    attempts.set(this.native, attempt);
    this.#flow.next();
    const end = await capture.ended;
    if (end.kind === 'answer') return { kind: 'answered', answer: stored(end) };
    if (end.answer === null) return { kind: 'silent', error: end.error };
    this.#isBroken = true;
    return { kind: 'answered', answer: stored(end.answer) };
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
    this.#capture?.release(extra);
  }

  replace(answer: StoredResponse): void {
    if (this.#capture === null) sendAnswer(this.#res, answer);
    else this.#capture.replace(answer);
  }

  fail(error: unknown): void {
    // Once the handler has begun to answer there is no clean way to answer in its place.
    if (this.#capture === null) this.#flow.fail(error);
    else this.#capture.destroy();
  }
}

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(req: IncomingMessage): Attempt | null {
  return attempts.get(req) ?? null;
}

function stored({ status, headers, body, trailers }: CapturedAnswer): StoredResponse {
  return trailers.length === 0 ? { status, headers, body } : { status, headers, body, trailers };
}
