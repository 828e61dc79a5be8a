/** Routes of calls: the options of a door without HTTP statuses, and one route for each name that it meets. */

import type { Engine } from '../engine/engine.ts';
import { OptionsError } from '../core/errors.ts';
import { aFunction, readOptions, required, type Table } from '../core/options.ts';
import { OPERATION_ROWS, type OperationOptions } from '../core/settings.ts';
import { compileRoute, type Route, ROUTE_ROWS, type RouteOptions } from '../http/route.ts';
import { compileServed, NO_REDACT } from '../http/serve.ts';
import { createStatus, NOT_FOUND, type StatusOptions } from '../http/status.ts';
import { internalsOf, type Samekey } from '../samekey.ts';
import type { Operation } from '../ways/define-operation.ts';
import { type Call, callProfile, type Ended, endOf, meetCall, type Refusal } from './call-exchange.ts';
import {
  type CallRedactFunction,
  type CallReplayFunction,
  redactOf,
  replayOf,
  type ValueForm,
} from './call-hooks.ts';

/** What protected calls and served operations both say, as routes of HTTP do. */
type Keyed<Native> = Pick<
  RouteOptions<Native>,
  | 'scope'
  | 'keyUniqueFor'
  | 'keyWasUniqueFor'
  | 'formerly'
  | 'header'
  | 'key'
  | 'fingerprint'
  | 'schema'
  | 'bindTo'
  | 'onOutcome'
> & {
  /**
   * Where the key comes, beside the header: a pure function of the call, such as one that gives an argument. A call
   * that brings two different keys is refused.
   */
  readonly keyIn?: (call: Native) => string | null | undefined | Promise<string | null | undefined>;
  /**
   * What a retry is told in place of the stored value, such as the state of today. Nothing runs whatever it gives; if
   * it throws, the retry is refused (503). Default: the stored value.
   */
  readonly onReplay?: CallReplayFunction<Native>;
};

/** Options of a protected call. */
export interface CallOptions<Native, Failure> extends OperationOptions, Keyed<Native> {
  /** Whether a call without a key is refused (default), or simply runs. */
  readonly required?: boolean;
  /** Calls that pass unprotected: a pure function of the call that gives true for them, asked before its key. */
  readonly skip?: (call: Native) => boolean;
  /**
   * The HTTP status that an error of the handler stands for, where its code alone does not say it: the policy goes by
   * it. Null for an error that was thrown and is no answer; undefined leaves it to the code.
   */
  readonly statusOf?: (error: Failure) => number | null | undefined;
  /**
   * Changes what is stored of an answer: retries get what it gives, the first caller the whole answer. If it throws,
   * nothing of the answer is stored (410 on a retry). Default: the answer as it is.
   */
  readonly redact?: CallRedactFunction;
}

/** Options of an operation that is served as a call. */
export interface CallServeOptions<Native, Input> extends Keyed<Native> {
  /** Makes the operation's input; default the call's own. What `schema` takes is what this gives. */
  readonly input?: (call: Native) => Input | Promise<Input>;
  /** What a call is answered that is accepted and not finished yet; default an error of the code `pending`. */
  readonly pending?: (call: Native) => unknown;
}

/** Options of a status that is asked by a call. */
export type CallStatusOptions<Native> = Omit<StatusOptions<Native>, 'profile' | 'dialect'>;

const {
  scope,
  keyUniqueFor,
  keyWasUniqueFor,
  formerly,
  header,
  key,
  fingerprint,
  schema,
  bindTo,
  onOutcome,
} = ROUTE_ROWS;
const KEYED = {
  scope,
  keyUniqueFor,
  keyWasUniqueFor,
  formerly,
  header,
  key,
  fingerprint,
  schema,
  bindTo,
  onOutcome,
  keyIn: aFunction<NonNullable<Keyed<never>['keyIn']>>(),
  onReplay: aFunction<NonNullable<Keyed<never>['onReplay']>>(),
} satisfies Table<Keyed<never>>;

/** The rows of {@link CallOptions}. */
export const CALL_ROWS: Table<CallOptions<never, never>> = {
  ...OPERATION_ROWS,
  ...KEYED,
  required: ROUTE_ROWS.required,
  skip: ROUTE_ROWS.skip,
  statusOf: aFunction(),
  redact: aFunction(),
};

/** The rows of {@link CallServeOptions}. */
export const CALL_SERVE_ROWS: Table<CallServeOptions<never, never>> = {
  ...KEYED,
  input: aFunction(),
  pending: aFunction(),
};

const CALL_STATUS_ROWS = {
  scope,
  keyUniqueFor,
  keyWasUniqueFor,
  formerly,
  key: required(aFunction()),
} satisfies Table<CallStatusOptions<never>>;

/** Options of a route that would say nothing of a call, and why: each is a promise of somebody's. */
const OF_HTTP: Readonly<Record<string, string>> = {
  dialect:
    'It says how an API answers over HTTP, by statuses, headers and bodies, and a call has none of its own. Say what it states by options: policy, keyIn, keyUniqueFor, retentionMs.',
  profile: 'It says how outcomes look over HTTP; those of calls are errors of their framework.',
  freshness: 'A call does not say when it was sent: its request may hold several.',
  firstSent: 'A call does not say when it was sent: its request may hold several.',
};

/** Checks the options of a door of calls. Throws `OptionsError`, which says why for what other doors take. */
export function readCallOptions(
  what: string,
  rows: Parameters<typeof readOptions>[1],
  options: unknown,
): void {
  for (const name of Object.keys(Object(options))) {
    if (Object.hasOwn(rows, name)) continue;
    const why = name === 'redact' ? NO_REDACT : OF_HTTP[name];
    if (why !== undefined) throw new OptionsError(`${what} of calls has no option "${name}". ${why}`);
  }
  readOptions(what, rows, options);
}

/** The route of each operation that a door's calls are of, by its name. */
interface CallRoutes<Native> {
  readonly engine: Engine;
  /** What all of them have in common, for `coverage`. */
  readonly common: Route<Native>;
  of(name: string): Route<Native>;
}

/** Checks the options of a door, less those that only it knows. Throws `OptionsError`. */
export function compileCalls<Native>(
  samekey: Samekey,
  { redact, onReplay, ...options }: Omit<CallOptions<Native, never>, 'statusOf'>,
  form?: ValueForm,
): CallRoutes<Native> {
  const { engine, defaults } = internalsOf(samekey);
  const profile = callProfile(options.keyIn !== undefined);
  const own = {
    ...options,
    profile,
    ...(redact !== undefined && { redact: redactOf(redact, form) }),
    ...(onReplay !== undefined && { onReplay: replayOf(onReplay, form) }),
  };
  const compile = (operation: string): Route<Native> =>
    compileRoute(defaults, { ...own, operation }, engine.world, engine.fingerprintSecrets);
  const routes = new Map<string, Route<Native>>();
  return {
    engine,
    common: compile('any'),
    of(name) {
      const route = routes.get(name) ?? compile(name);
      routes.set(name, route);
      return route;
    },
  };
}

/** An operation that is served as a call. */
interface ServedCalls<Native> {
  readonly route: Route<Native>;
  readonly meet: (call: Call<Native>) => Promise<Ended>;
}

/** Checks the options and puts the operation's own in place. Throws `OptionsError`. */
export function compileServedCalls<Native, Input>(
  operation: Operation<Input, unknown>,
  inputOf: (call: Native) => Input,
  { pending, onReplay, ...options }: CallServeOptions<Native, Input>,
): ServedCalls<Native> {
  const { engine, route, wrapped } = compileServed<Native, Input>(operation, {
    input: inputOf,
    ...options,
    ...(onReplay !== undefined && { onReplay: replayOf(onReplay) }),
    profile: callProfile(options.keyIn !== undefined),
  });
  return {
    route,
    async meet(call) {
      // There is nothing that it could pass to.
      const end = (await meetCall(engine, route, call, wrapped)) as Ended;
      if (pending === undefined || end.kind !== 'refused' || end.refusal.code !== 'pending') return end;
      return { kind: 'answered', status: 202, value: pending(call.native), lines: end.lines };
    },
  };
}

/** How a call stands that is done by an operation. */
export type CallStatus<Value> =
  | { readonly status: 'pending'; readonly retryAfter: number }
  | { readonly status: 'done'; readonly value: Value };

/** The status of an operation's calls, as the end of the call that asks for it. Throws `OptionsError`. */
export function compileStatusCalls<Native>(
  operation: Operation<never, unknown>,
  options: CallStatusOptions<Native>,
): (native: Native) => Promise<Ended> {
  readCallOptions('serveStatus', CALL_STATUS_ROWS, options);
  const ask = createStatus<Native>(operation, { ...options, profile: callProfile(false) });
  return async (native) => {
    const answer = await ask(native);
    const end = endOf(answer);
    if (answer === NOT_FOUND && end.kind === 'answered')
      return { kind: 'refused', refusal: end.value as Refusal, lines: [] };
    if (end.kind === 'refused' && end.refusal.code === 'pending') {
      const { retryAfter = 1 } = end.refusal;
      return { kind: 'answered', status: 200, value: { status: 'pending', retryAfter }, lines: end.lines };
    }
    if (end.kind !== 'answered' || end.status >= 400) return end;
    return { ...end, value: { status: 'done', value: end.value } };
  };
}
