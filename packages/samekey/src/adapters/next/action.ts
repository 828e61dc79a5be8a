/**
 * Server actions of Next.js: functions that a form or a component calls, without a request whose headers the client
 * chooses.
 *
 * Invariants: what is compared are the arguments, and never the request, which Next encrypts anew · `redirect()`,
 * `notFound()` and their like are answers, and are thrown again on a replay · who calls is given what was read back
 * from the record, be it the first time or a retry.
 */

import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { aFunction, required, type Table, text } from '../../core/options.ts';
import type { OperationOptions } from '../../core/settings.ts';
import {
  declaredBy,
  type Did,
  type Ended,
  meetCall,
  type Refusal,
  wrappedCall,
} from '../../http-call/call-exchange.ts';
import { CALL_ROWS, type CallOptions, compileCalls, readCallOptions } from '../../http-call/call-route.ts';
import type { ValueForm } from '../../http-call/call-hooks.ts';
import type { Samekey } from '../../samekey.ts';
import { navigationOf } from './next-errors.ts';

/** A call of an action: what scope functions and their like get. */
export interface ActionCall<Args extends readonly unknown[] = readonly unknown[]> {
  readonly args: Args;
}

interface OwnOptions<Call, Shown> {
  /** The operation's name: it is part of what a key is unique for, and stays when the file moves. */
  readonly name: string;
  /** The key: a pure function of the call, such as `({ args: [form] }) => String(form.get('key'))`. */
  readonly keyIn: (call: Call) => string | null | undefined | Promise<string | null | undefined>;
  /**
   * What of the arguments counts, as JSON; default all of them, of a form its fields in their order, of a file its
   * bytes. Leave out the state that `useActionState` hands in: it may differ on a retry.
   */
  readonly input?: (call: Call) => unknown;
  /** What the action gives where it was not run, or nobody knows: what the page shows. */
  readonly refused: (refusal: Refusal, call: Call) => Shown | Promise<Shown>;
}

type CommonOptions<Call> = Omit<CallOptions<Call, never>, 'header' | 'keyIn' | 'statusOf' | 'errorData'>;

/** Options of a protected action. */
export interface ActionOptions<Args extends readonly unknown[], Shown>
  extends OperationOptions,
    CommonOptions<ActionCall<Args>>,
    OwnOptions<ActionCall<Args>, Shown> {}

const { header: _header, keyIn: _keyIn, statusOf: _statusOf, ...KEYED } = CALL_ROWS;
const ROWS = {
  ...KEYED,
  name: required(text()),
  keyIn: required(aFunction<OwnOptions<never, never>['keyIn']>()),
  input: aFunction(),
  refused: required(aFunction<OwnOptions<never, never>['refused']>()),
} satisfies Table<CommonOptions<never> & OwnOptions<never, never>>;

/** What an action ended with, as it is stored. */
type Kept = { readonly value: unknown } | { readonly digest: string };

/** What hooks see of it: what the action gave. Where it led to is of no hook. */
const KEPT: ValueForm = {
  read: (_status, kept) => (isValue(kept) ? { value: kept.value } : null),
  write(status, value) {
    if (status !== 200) throw new TypeError('an action gives a value and no status');
    return { value } satisfies Kept;
  },
};

function isValue(kept: unknown): kept is Extract<Kept, { readonly value: unknown }> {
  return typeof kept === 'object' && kept !== null && 'value' in kept;
}

/**
 * Protects a server action: same key, same end. The action is called with its attempt first, which is null where a call
 * without a key may run (`required: false`).
 *
 * ```ts
 * export const pay = idempotentAction(
 *   samekey,
 *   {
 *     name: 'pay',
 *     policy: 'payments',
 *     scope: async () => (await session()).userId,
 *     keyIn: ({ args: [form] }) => String(form.get('key') ?? ''),
 *     refused: ({ detail }) => ({ error: detail }),
 *   },
 *   async (attempt: Attempt | null, form: FormData) => {
 *     await charge(form, attempt?.signal);
 *     redirect('/thanks');
 *   },
 * );
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotentAction<Args extends readonly unknown[], Value, Shown>(
  samekey: Samekey,
  options: ActionOptions<Args, Shown>,
  action: (attempt: Attempt | null, ...args: Args) => Promise<Value>,
): (...args: Args) => Promise<Value | Shown> {
  readCallOptions('idempotentAction', ROWS, options);
  if (typeof action !== 'function')
    throw new OptionsError(
      'The action of idempotentAction() is no function: pass async (attempt, ...args) => …',
    );
  const { name, refused, input: inputOf, ...own } = options;
  const routes = compileCalls<ActionCall<Args>>(samekey, own, KEPT);
  return async (...args) => {
    const native = { args };
    const input = await plainInput(inputOf === undefined ? args : inputOf(native));
    const run = async (attempt: Attempt): Promise<Did> => endOf(() => action(attempt, ...args));
    const call = { native, input, headerLines: () => [], isOneOfSeveral: false };
    const route = routes.of(name);
    const end = await meetCall(routes.engine, route, call, wrappedCall(route, input, run));
    if (end.kind === 'passed') return action(null, ...args);
    return end.kind === 'refused' ? refused(end.refusal, native) : (valueOf(end) as Value);
  };
}

/** What the action did; what it throws for Next is an end like any other. */
async function endOf(run: () => Promise<unknown>): Promise<Did> {
  try {
    return { status: 200, value: { value: await run() } satisfies Kept };
  } catch (error) {
    const navigation = navigationOf(error);
    if (navigation === null) return { status: null, error: declaredBy(error) ?? error };
    const { status, digest } = navigation;
    return { status, value: { digest } satisfies Kept };
  }
}

function valueOf(end: Exclude<Ended, { readonly kind: 'refused' }>): unknown {
  if (end.kind === 'threw') throw end.error;
  const kept = end.value as Kept;
  if (!('digest' in kept)) return kept.value;
  throw Object.assign(new Error(kept.digest.split(';')[0]), { digest: kept.digest });
}

/** Arguments as they can be compared: forms as their fields, without those that Next adds; files by their bytes. */
async function plainInput(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(plainInput));
  if (value instanceof FormData)
    return plainInput([...value].filter(([field]) => !field.startsWith('$ACTION_')));
  if (!(value instanceof Blob)) return value ?? null;
  const digest = await crypto.subtle.digest('SHA-256', await value.arrayBuffer());
  const name = value instanceof File ? value.name : null;
  return { name, type: value.type, sha256: btoa(String.fromCharCode(...new Uint8Array(digest))) };
}
