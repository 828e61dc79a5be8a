/**
 * One call of a protocol without HTTP statuses (tRPC, GraphQL), as an exchange: its input is the body, what it returns
 * or refuses has a status by a table, and how it ended is told as a value.
 *
 * Invariant: what a caller is given is read back from what is stored, be it the first caller or one who asks again; of
 * an answer that is redacted the first caller is given the whole, read back all the same.
 */

import type { Attempt, HeardAttempt } from '../engine/attempt.ts';
import type { Engine } from '../engine/engine.ts';
import type { Handler } from '../engine/work.ts';
import { InvariantError, isNotExecutedError, isOutcomeUnknownError, isValueError } from '../core/errors.ts';
import { type HeaderLine, response, type StoredResponse } from '../core/response.ts';
import { validate } from '../core/schema.ts';
import { comparedJsonOf } from '../fingerprint/json-value.ts';
import { redacted } from '../http/answer-hooks.ts';
import type { BodyRead, Exchange, HandlerEnd, HttpRequest } from '../http/exchange.ts';
import { handle } from '../http/handle.ts';
import { type ProblemCode, problemOf, type ProblemOutcome } from '../http/problem.ts';
import type { Profile } from '../http/profile.ts';
import { ietf } from '../http/profiles/ietf.ts';
import { isFinalStatus, type Route } from '../http/route.ts';
import type { Wrapped } from '../http/wrapped.ts';
import { outright } from '../ways/outright.ts';
import { reply, valueOf } from '../ways/reply.ts';

/** A call, as its door sees it. */
export interface Call<Native> {
  /** What scope functions and their like get. */
  readonly native: Native;
  /** What is compared: as the client sent it. */
  readonly input: unknown;
  /** Lines of a header of the call's request; none where there is none. */
  headerLines(name: string): readonly string[];
  /** Whether the request holds more calls that change something: a key in its header is then nobody's. */
  readonly isOneOfSeveral: boolean;
}

/** Why a call was not answered by its handler: the members of a problem document (RFC 9457), for the client. */
export interface Refusal {
  readonly code: ProblemCode | 'not-found';
  readonly status: number;
  readonly title?: string;
  readonly detail: string;
  /** Whether the same call under the same key may succeed later. */
  readonly retryable?: boolean;
  /** When to ask again, in seconds. */
  readonly retryAfter?: number;
  /** The page that explains it. */
  readonly type: string;
  /** What is wrong with an input, and where. */
  readonly errors?: readonly { readonly detail: string; readonly pointer: string }[];
}

/** How a call ended. `lines` say whether it is a replay, how long it is remembered, and when to ask again. */
export type Ended =
  /** The handler's answer, now or earlier; a status of 400 and more is its refusal. */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly value: unknown;
      readonly lines: readonly HeaderLine[];
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly lines: readonly HeaderLine[] }
  | { readonly kind: 'threw'; readonly error: unknown };

/** The same; `passed`: it is not protected, so let it run. */
type CallEnd = Ended | { readonly kind: 'passed' };

/** What a handler did: it returned, it failed with an answer that has a status, or it threw. */
export type Did =
  | { readonly status: number; readonly value: unknown }
  | { readonly status: null; readonly error: unknown };

/** Meets one call. Never rejects. */
export async function meetCall<Native>(
  engine: Engine,
  route: Route<Native>,
  call: Call<Native>,
  wrapped: Wrapped<Native>,
): Promise<CallEnd> {
  let own: Call<Native>;
  try {
    own = call.isOneOfSeveral ? await oneOfSeveral(route, call) : call;
  } catch (error) {
    return { kind: 'threw', error };
  }
  return new Promise((resolve) => {
    void handle(engine, route, new CallExchange(own, resolve), wrapped);
  });
}

/**
 * A key in the header of several calls is nobody's. A call that brings a key of its own does not see it; any other sees
 * it twice, and so is refused as one with several keys.
 */
async function oneOfSeveral<Native>(route: Route<Native>, call: Call<Native>): Promise<Call<Native>> {
  const key = route.keyIn?.kind === 'function' ? await route.keyIn.from(call.native) : null;
  const hasOwn = key !== null && key !== undefined && key !== '';
  return {
    ...call,
    headerLines(name) {
      const lines = call.headerLines(name);
      if (name !== route.header && !route.otherHeaders.includes(name)) return lines;
      return hasOwn ? [] : lines.flatMap((line) => [line, line]);
    },
  };
}

/** A handler of the framework's own, which is called with its attempt. */
export function wrappedCall<Native>(
  { redact }: Pick<Route<Native>, 'redact'>,
  input: unknown,
  run: (attempt: Attempt) => Promise<Did>,
): Wrapped<Native> {
  const how = { input: null, entry: 'run', pendingTimeMaxMs: 0 } as const;
  const whole = outright(async (attempt) => {
    const did = await run(attempt);
    if (did.status === null) throw did.error;
    return reply(did.status, did.value);
  });
  let first: StoredResponse | null = null;
  const start: Handler['start'] = async (attempt, owner) => {
    const ending = await whole.start(attempt, owner);
    // Of what JSON cannot hold nothing is stored anyway.
    if (redact === null || ending.kind !== 'answered' || ending.error !== undefined) return ending;
    first = ending.response;
    return { ...ending, response: redacted(redact, first, owner) };
  };
  const handler: Handler = { start };
  return {
    mayBeUnseen: false,
    firstAnswer: () => first,
    location: () => null,
    async prepare(_native, _body, schema) {
      const checked = schema === null ? null : await validate(schema, input);
      return checked !== null && 'issues' in checked
        ? { ...how, invalid: checked.issues }
        : { ...how, handler };
    },
  };
}

/** What an error says over its class: that nothing happened, or that nobody knows; itself, or what it wraps. */
export function declaredBy(error: unknown): unknown {
  const { cause, originalError } = (error ?? {}) as {
    readonly cause?: unknown;
    readonly originalError?: unknown;
  };
  return [error, cause, originalError].find((one) => isNotExecutedError(one) || isOutcomeUnknownError(one));
}

const EACH_ITS_OWN = 'Of several calls in one request, each needs a key of its own, as an argument.';
const OR_AN_ARGUMENT = 'The key may also be an argument of the call.';
const WORDS = ietf();
/** Told by identity: no answer of a handler has this very line. */
const REFUSED: HeaderLine = ['Samekey-Refused', 'true'];

/** Renders refusals for {@link meetCall}. `hasArgument`: keys may come as an argument (`keyIn`). */
export function callProfile(hasArgument: boolean): Profile {
  return {
    name: 'call',
    replayHeaders: WORDS.replayHeaders,
    render(outcome, keyHeader) {
      const rendered = WORDS.render(worded(outcome, hasArgument, keyHeader), keyHeader);
      return { ...rendered, headers: [...rendered.headers, REFUSED] };
    },
  };
}

/** An outcome in the words of a call, where those of a request would mislead. */
function worded(outcome: ProblemOutcome, hasArgument: boolean, keyHeader?: string): ProblemOutcome {
  if (outcome.kind === 'key-malformed' && outcome.fault === 'several')
    return { ...outcome, detail: `${outcome.detail} ${EACH_ITS_OWN}` };
  if (outcome.kind !== 'key-missing' || !hasArgument) return outcome;
  const { detail } = problemOf('key-missing', keyHeader);
  return { ...outcome, detail: `${detail} ${OR_AN_ARGUMENT}` } as ProblemOutcome;
}

/** How a call ended that was answered so: with a refusal of ours, or a handler's answer. */
export function endOf(answer: StoredResponse): Ended {
  const { status, headers } = answer;
  const lines = headers.filter(([name]) => /^(idempotency-|retry-after$)/i.test(name));
  try {
    const value = valueOf(answer);
    if (!headers.includes(REFUSED)) return { kind: 'answered', status, value, lines };
    const retryAfter = lines.find(([name]) => name === 'Retry-After')?.[1];
    const refusal = {
      ...(value as Refusal),
      ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }),
    };
    return { kind: 'refused', refusal, lines };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

/**
 * Whether the caller is told this end, and not what its own handler threw: a refusal of ours, or an error that is
 * stored, which every retry gets.
 */
export function isKept<Native>(route: Route<Native>, end: Ended): boolean {
  return end.kind === 'refused' || (end.kind === 'answered' && isFinalStatus(route, end.status));
}

class CallExchange<Native> implements Exchange<Native> {
  readonly native: Native;
  readonly request: HttpRequest;
  readonly isBroken = false;
  readonly #input: unknown;
  readonly #end: (end: CallEnd) => void;

  constructor(call: Call<Native>, end: (end: CallEnd) => void) {
    this.native = call.native;
    this.#input = call.input;
    this.#end = end;
    this.request = {
      method: 'POST',
      // The name of its operation stands for it.
      path: '/',
      query: '',
      route: null,
      headerLines: (name) => (name === 'content-type' ? JSON_TYPE : call.headerLines(name)),
    };
  }

  async readBody(): Promise<BodyRead> {
    try {
      const text = comparedJsonOf('The input', this.#input) ?? '';
      return { kind: 'body', decoded: new TextEncoder().encode(text) };
    } catch (error) {
      // How deep it is nested is the client's; what is no JSON at all is a matter of set-up.
      if (isValueError(error) && error.fault === 'too-deep') return { kind: 'too-large' };
      throw error;
    }
  }

  pass(): void {
    this.#end({ kind: 'passed' });
  }

  run(_attempt: HeardAttempt): Promise<HandlerEnd> {
    throw new InvariantError('a call has a handler of its own');
  }

  answerSoFar(): null {
    return null;
  }

  release(): void {
    this.#end(endOf(response(204)));
  }

  replace(answer: StoredResponse): void {
    this.#end(endOf(answer));
  }

  fail(error: unknown): void {
    this.#end({ kind: 'threw', error });
  }
}

const JSON_TYPE: readonly string[] = ['application/json'];
