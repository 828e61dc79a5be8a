/**
 * How an operation is run: its policy, its way, its times and bounds. Checked once, at start.
 */

import { OptionsError } from './errors.ts';
import type { Limits } from './limits.ts';
import { having, oneOf, orNull, readOptions, row, type Table, wholeNumber } from './options.ts';
import { type Policy, type PolicyName, resolvePolicy } from './policy.ts';
import type { WhenClaimEnds } from './record.ts';

/** Settings of an operation; each can be given to `createSamekey` for all, and to a route or a run for one. */
export interface OperationOptions {
  /** What is stored and what may run again. No default: a plain operation names its policy. */
  readonly policy?: PolicyName | Policy;
  /** What becomes of an attempt whose process died. Default `unknown`: it may have taken effect. */
  readonly whenClaimEnds?: WhenClaimEnds;
  /** How long a claim lasts without renewal, in milliseconds; default 30,000. */
  readonly claimTtlMs?: number;
  /** How long an attempt may run, in milliseconds; default 300,000. */
  readonly attemptTimeMaxMs?: number;
  /** How many attempts a key has; default 10. */
  readonly attemptMax?: number;
  /** How long a key is remembered from its first use, in milliseconds; default 24 h. */
  readonly retentionMs?: number;
  /** How long clients may retry, in milliseconds; default 24 h. A shorter `retentionMs` is warned of. */
  readonly retryWindowMs?: number;
  /** How long a record lives at least after it became final, in milliseconds; default `retentionMs`. */
  readonly replayMinMs?: number;
  /** How long an expired key answers "gone" instead of running again, in milliseconds; default 0. */
  readonly tombstoneMs?: number;
  /** How long a duplicate waits for the running attempt before it is told "in progress", in milliseconds; default 0. */
  readonly waitMaxMs?: number;
  /** When a reconciler should look at an unknown outcome, in milliseconds; default 60,000. */
  readonly reconcileAfterMs?: number;
  /** How much a caller may begin, made by `createLimits` of `samekey/guard`; default no limits. */
  readonly limits?: Limits | null;
}

/** Settings with every default in place. */
export interface OperationSettings extends Required<Omit<OperationOptions, 'policy'>> {
  readonly policy: Policy;
  /** Whether `Set-Cookie` is stored: an option of routes; what runs without one has no session to give it to. */
  readonly storeSetCookie: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1000;

const ROWS = {
  policy: row((given, path) => resolvePolicy(given as PolicyName | Policy, path)),
  whenClaimEnds: oneOf(['unknown', 'resume'], 'unknown'),
  claimTtlMs: wholeNumber(1, undefined, 30_000),
  attemptTimeMaxMs: wholeNumber(1, undefined, 300_000),
  attemptMax: wholeNumber(1, undefined, 10),
  retentionMs: wholeNumber(1, undefined, DAY_MS),
  retryWindowMs: wholeNumber(0, undefined, DAY_MS),
  replayMinMs: wholeNumber(0),
  tombstoneMs: wholeNumber(0, undefined, 0),
  waitMaxMs: wholeNumber(0, undefined, 0),
  reconcileAfterMs: wholeNumber(0, undefined, 60_000),
  limits: orNull(having<Limits>(['takeNewKey'], 'what createLimits of samekey/guard returned')),
} satisfies Table<OperationOptions>;

/** The rows of {@link OperationOptions}, for the tables of whatever takes them too. */
export const OPERATION_ROWS: Table<OperationOptions> = ROWS;

/** The names of these options. */
export const OPERATION_OPTIONS: readonly (keyof OperationOptions)[] = Object.keys(
  ROWS,
) as (keyof OperationOptions)[];

/** Puts an operation's own options over those of the instance. Throws `OptionsError`. */
export function resolveSettings(instance: OperationOptions, own: OperationOptions): OperationSettings {
  const given: Partial<Record<keyof OperationOptions, unknown>> = {};
  for (const name of OPERATION_OPTIONS) given[name] = own[name] ?? instance[name];
  const { policy, limits, ...settings } = readOptions('An operation', ROWS, given);
  if (policy === undefined) {
    throw new OptionsError(
      'An operation must name its policy: "standard" (a 5xx means nothing happened), "payments" (a 5xx means nobody knows) or "stripe".',
    );
  }
  return Object.freeze({
    ...settings,
    policy,
    replayMinMs: settings.replayMinMs ?? settings.retentionMs,
    limits: limits ?? null,
    storeSetCookie: false,
  });
}

/** Operations whose last settings are remembered; then they are read anew. */
const REMEMBERED_MAX = 200;

/**
 * The settings of requests that bring options of their own, which are nearly always those that the operation's last
 * request brought: only what differs is read again. Throws `OptionsError`.
 */
export function settingsOfRequests(
  instance: OperationOptions,
): (operation: string, own: OperationOptions) => OperationSettings {
  const known = new Map<string, { readonly own: OperationOptions; readonly settings: OperationSettings }>();
  return (operation, own) => {
    const last = known.get(operation);
    if (last !== undefined && OPERATION_OPTIONS.every((name) => own[name] === last.own[name]))
      return last.settings;
    const settings = resolveSettings(instance, own);
    if (known.size >= REMEMBERED_MAX) known.clear();
    // The options alone: the request holds a key and what is compared.
    known.set(operation, {
      own: Object.fromEntries(OPERATION_OPTIONS.map((name) => [name, own[name]])),
      settings,
    });
    return settings;
  };
}
