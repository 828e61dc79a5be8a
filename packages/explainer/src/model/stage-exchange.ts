/**
 * The adapter of the stage: it connects plain requests with `handle`, as the adapters for Express or Fetch do with
 * theirs, and decides nothing. Not Fetch's own: bodies of `Request` are read in more turns than one, which differ
 * from browser to browser.
 */

import type { HeaderLine, StoredResponse } from 'samekey/internals/core/response';
import type { HeardAttempt } from 'samekey/internals/engine/attempt';
import type { HttpRequest as Asked, BodyRead, Exchange, HandlerEnd } from 'samekey/internals/http/exchange';
import { type HttpAnswer, type HttpRequest, json } from './http-lines.ts';

/** A handler of the application. */
export type StageHandler = (request: HttpRequest, attempt: HeardAttempt) => Promise<HttpAnswer>;

/** Without protection there is no attempt, and handlers of the stage ask for none. */
export const NO_ATTEMPT: never = undefined as never;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One request and its answer. */
export class StageExchange implements Exchange<HttpRequest> {
  readonly request: Asked;
  readonly native: HttpRequest;
  readonly answer: Promise<HttpAnswer>;
  readonly isBroken = false;
  readonly #handler: StageHandler;
  #held: HttpAnswer | null = null;
  #respond: (answer: HttpAnswer) => void = () => undefined;

  constructor(request: HttpRequest, handler: StageHandler) {
    this.native = request;
    this.#handler = handler;
    this.request = {
      method: request.method,
      path: request.path,
      query: '',
      route: null,
      headerLines: (name) =>
        request.headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value),
    };
    this.answer = new Promise((resolve) => {
      this.#respond = resolve;
    });
  }

  async readBody(): Promise<BodyRead> {
    return { kind: 'body', decoded: encoder.encode(this.native.body) };
  }

  pass(): void {
    void this.#handler(this.native, NO_ATTEMPT).then((answer) => this.#respond(answer));
  }

  async run(attempt: HeardAttempt): Promise<HandlerEnd> {
    try {
      this.#held = await this.#handler(this.native, attempt);
    } catch (error) {
      return { kind: 'threw', error };
    }
    const { status, headers, body } = this.#held;
    return { kind: 'answered', answer: { status, headers, body: encoder.encode(body) } };
  }

  answerSoFar(): null {
    return null;
  }

  release(extra: readonly HeaderLine[]): void {
    if (this.#held !== null) this.#respond({ ...this.#held, headers: [...this.#held.headers, ...extra] });
  }

  replace({ status, headers, body }: StoredResponse): void {
    this.#respond({ status, headers, body: body === null ? '' : decoder.decode(body) });
  }

  /** As frameworks do: what the handler threw is answered 500. */
  fail(): void {
    this.#respond(json(500, { error: 'Internal error' }));
  }
}
