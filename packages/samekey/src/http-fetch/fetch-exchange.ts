/**
 * One exchange over a Fetch `Request` and `Response`, for every framework that is built on them: the body read and
 * given back, the answer held, streamed or replaced.
 */

import type { Attempt, HeardAttempt } from '../engine/attempt.ts';
import type { MatchedRoute } from '../core/operation.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { BodyRead, Exchange, ExchangeHost, HandlerEnd, HttpRequest } from '../http/exchange.ts';
import { KeptCopy, tellNoRoom } from '../http/kept-copy.ts';
import { isFinalStatus, type Route } from '../http/route.ts';
import { AnswerBody, type HeldBody, WholeBody } from './answer-body.ts';
import { type Below, NULL_BODY } from './below.ts';
import { readRequestBody } from './request-body.ts';

/** What a framework knows beside the request. Without one the request itself is the native one. */
interface FetchPlace<Native> {
  /** The framework's own request, for the scope function. */
  readonly native: Native;
  /** The field lines as they came, where the platform tells them; null where it joins them. */
  readonly rawHeaders: readonly string[] | null;
  /** As {@link HttpRequest.route}. */
  readonly route: MatchedRoute | null;
  /** Header lines that outer middleware has set before: they belong to the request and stand on every answer. */
  readonly headers: readonly HeaderLine[];
  /** What the server offers below its objects. */
  readonly below?: Below | undefined;
}

/** One request and its answer. */
export class FetchExchange<Native = Request> implements Exchange<Native> {
  readonly request: HttpRequest;
  readonly native: Native;
  /** What the runtime gets. */
  readonly response: Promise<Response>;
  readonly #asked: Request;
  readonly #route: Route<Native>;
  readonly #outer: readonly HeaderLine[];
  readonly #host: ExchangeHost;
  readonly #handler: (request: Request, attempt: Attempt | null) => Response | Promise<Response>;
  #respond: (response: Response | Promise<Response>) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #read: Promise<BodyRead> | null = null;
  #raw: Uint8Array<ArrayBuffer> | null = null;
  readonly #below: Below | undefined;
  #held: { readonly response: Response; readonly body: HeldBody } | null = null;

  constructor(
    request: Request,
    route: Route<Native>,
    host: ExchangeHost,
    handler: (request: Request, attempt: Attempt | null) => Response | Promise<Response>,
    place?: FetchPlace<Native>,
  ) {
    const url = new URL(request.url);
    this.#asked = request;
    this.native = place?.native ?? (request as Native);
    this.#outer = place?.headers ?? [];
    this.#below = place?.below;
    this.#route = route;
    this.#host = host;
    this.#handler = handler;
    this.response = new Promise((resolve, reject) => {
      this.#respond = resolve;
      this.#reject = reject;
    });
    this.request = {
      method: request.method,
      path: url.pathname,
      query: url.search.slice(1),
      route: place?.route ?? null,
      headerLines: (name) => linesOf(request, place?.rawHeaders ?? null, name),
    };
  }

  readBody(sizeMaxBytes: number): Promise<BodyRead> {
    this.#read ??= this.#readOnce(sizeMaxBytes);
    return this.#read;
  }

  async #readOnce(sizeMaxBytes: number): Promise<BodyRead> {
    const read = await readRequestBody(this.#asked, sizeMaxBytes, this.#below);
    if (read.kind === 'body') this.#raw = read.raw;
    return read;
  }

  pass(): void {
    // A body that was read to look for a key is given anew.
    const request = this.#raw === null ? this.#asked : this.#ownRequest(this.#asked);
    const answered = (async () => this.#handler(request, null))();
    this.#respond(answered);
  }

  async run(attempt: HeardAttempt): Promise<HandlerEnd> {
    let response: Response;
    try {
      response = await this.#handler(this.#ownRequest(attempt), attempt);
    } catch (error) {
      return isNoAnswer(error) ? { kind: 'silent', error } : { kind: 'threw', error };
    }
    const { responseSizeMaxBytes, bufferTimeMaxMs } = this.#route;
    const whole = this.#below?.bytesOf(response);
    if (whole !== undefined) {
      const body = new WholeBody(whole);
      this.#held = { response, body };
      // What is too large to be kept is in memory all the same: nothing of it needs to stream.
      const kept = body.bytes.length <= responseSizeMaxBytes ? body.bytes : null;
      return { kind: 'answered', answer: this.#answer(response, kept) };
    }
    if (!isAnswer(response)) return { kind: 'silent', error: noAnswer() };
    const { world, kept, emit } = this.#host;
    const body = new AnswerBody(response, {
      responseSizeMaxBytes,
      bufferTimeMaxMs,
      setTimer: (delayMs, callback) => world.setTimer(delayMs, callback),
      newCopy: () =>
        new KeptCopy({ responseSizeMaxBytes, budget: kept, onNoRoom: () => tellNoRoom(emit, attempt) }),
      isDecidedEarly: () => !attempt.hasSpoken && isFinalStatus(this.#route, response.status),
      startStream: (stream) =>
        this.#respond(new Response(stream, { ...init(response), headers: response.headers })),
    });
    this.#held = { response, body };
    await body.read();
    return { kind: 'answered', answer: this.#answer(response, body.bytes) };
  }

  get isBroken(): boolean {
    return this.#held?.body.isBroken === true;
  }

  answerSoFar(): StoredResponse | null {
    return this.#held !== null && this.#held.body.streams ? this.#answer(this.#held.response, null) : null;
  }

  release(extra: readonly HeaderLine[]): void {
    if (this.#held === null) return;
    const { response, body } = this.#held;
    if (body.streams) return body.finish();
    const headers = new Headers(response.headers);
    for (const [name, value] of extra) headers.set(name, value);
    // Whoever asks for the text beside the status makes a whole answer of one that is not.
    const status = body instanceof WholeBody ? { status: response.status } : init(response);
    const bytes = body.isNone ? null : body.bytes;
    this.#respond(new Response(bodyFor(response.status, bytes), { ...status, headers }));
  }

  replace(answer: StoredResponse): void {
    if (this.#held?.body.streams === true) return this.#held.body.abort();
    this.#held?.body.leave();
    const headers = new Headers();
    for (const [name, value] of this.#outer) headers.append(name, value);
    for (const [name] of answer.headers) headers.delete(name);
    for (const [name, value] of answer.headers) headers.append(name, value);
    this.#respond(new Response(heldBodyOf(answer), { status: answer.status, headers }));
  }

  fail(error: unknown): void {
    if (this.#held?.body.streams === true) return this.#held.body.abort();
    this.#reject(error);
  }

  /** The request as the handler sees it: body unread, and cancelled by the attempt, not by the client. */
  #ownRequest(attempt: Pick<Attempt, 'signal'>): Request {
    if (this.#below !== undefined && this.#raw !== null) return this.#below.ownRequest(this.#raw, attempt);
    // An empty body that came as a stream has been read too: it must be given anew, or the request counts as used.
    const body = this.#asked.body === null ? {} : { body: this.#raw };
    return new Request(this.#asked, { ...body, signal: attempt.signal });
  }

  #answer(response: Response, body: Uint8Array | null): StoredResponse {
    return { status: response.status, headers: [...response.headers], body };
  }
}

/**
 * The lines of a field. A platform that joins them does so with ", " (Fetch §2.2, "get a header"), so a value with that
 * in it may be several, and counts as several: two lines `"a` and `b"` must never be one key `"a, b"` (F80).
 */
function linesOf(request: Request, raw: readonly string[] | null, name: string): readonly string[] {
  if (raw === null) return request.headers.get(name)?.split(', ') ?? [];
  const lines: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() === name) lines.push(raw[i + 1] as string);
  }
  return lines;
}

/** What a handler of a framework throws for one that has ended without an answer. */
export function noAnswer(
  message = 'The handler has answered nothing: it must return a Response.',
): TypeError {
  return Object.assign(new TypeError(message), { [NO_ANSWER]: true as const });
}

const NO_ANSWER: unique symbol = Symbol('samekey.noAnswer');

function isNoAnswer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && NO_ANSWER in error;
}

/** Not by `instanceof`: a runtime may have several classes of them. `Response.error()` is the lack of one. */
function isAnswer(response: unknown): response is Response {
  const given = response as Partial<Response> | null | undefined;
  return typeof given?.status === 'number' && given.headers !== undefined && given.type !== 'error';
}

/** An answer that is held as data. */
export function toResponse(answer: StoredResponse): Response {
  const headers = new Headers();
  for (const [name, value] of answer.headers) headers.append(name, value);
  return new Response(heldBodyOf(answer), { status: answer.status, headers });
}

function init(response: Response): ResponseInit {
  return { status: response.status, statusText: response.statusText };
}

/** No bytes are no body: most answers without bytes had none, and some servers give a type to one that is empty. */
function heldBodyOf({ status, body }: StoredResponse): Uint8Array<ArrayBuffer> | null {
  return bodyFor(status, body?.length === 0 ? null : body);
}

function bodyFor(status: number, bytes: Uint8Array | null): Uint8Array<ArrayBuffer> | null {
  return NULL_BODY.includes(status) || bytes === null ? null : (bytes as Uint8Array<ArrayBuffer>);
}
