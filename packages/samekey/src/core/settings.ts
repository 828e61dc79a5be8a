/**
 * How an operation is run: its policy, its way, its times and bounds. Checked once, at start.
 */

import { OptionsError } from './errors.ts';
import type { Limits } from './limits.ts';
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

/** Names of the options that {@link resolveSettings} understands. */
export const OPERATION_OPTIONS: readonly (keyof OperationOptions)[] = [
  'policy',
  'whenClaimEnds',
  'claimTtlMs',
  'attemptTimeMaxMs',
  'attemptMax',
  'retentionMs',
  'retryWindowMs',
  'replayMinMs',
  'tombstoneMs',
  'waitMaxMs',
  'reconcileAfterMs',
  'limits',
];

/** Puts an operation's own options over those of the instance. Throws `OptionsError`. */
export function resolveSettings(instance: OperationOptions, own: OperationOptions): OperationSettings {
  const pick = <Name extends keyof OperationOptions>(name: Name): OperationOptions[Name] =>
    own[name] ?? instance[name];
  const policy = pick('policy');
  if (policy === undefined) {
    throw new OptionsError(
      'An operation must name its policy: "standard" (a 5xx means nothing happened), "payments" (a 5xx means nobody knows) or "stripe".',
    );
  }
  const whenClaimEnds = pick('whenClaimEnds') ?? 'unknown';
  if (whenClaimEnds !== 'unknown' && whenClaimEnds !== 'resume') {
    throw new OptionsError(`whenClaimEnds is "unknown" or "resume"; it is ${String(whenClaimEnds)}.`);
  }
  const retentionMs = wholeNumber('retentionMs', pick('retentionMs') ?? DAY_MS, 1);
  return Object.freeze({
    policy: resolvePolicy(policy),
    whenClaimEnds,
    claimTtlMs: wholeNumber('claimTtlMs', pick('claimTtlMs') ?? 30_000, 1),
    attemptTimeMaxMs: wholeNumber('attemptTimeMaxMs', pick('attemptTimeMaxMs') ?? 300_000, 1),
    attemptMax: wholeNumber('attemptMax', pick('attemptMax') ?? 10, 1),
    retentionMs,
    retryWindowMs: wholeNumber('retryWindowMs', pick('retryWindowMs') ?? DAY_MS, 0),
    replayMinMs: wholeNumber('replayMinMs', pick('replayMinMs') ?? retentionMs, 0),
    tombstoneMs: wholeNumber('tombstoneMs', pick('tombstoneMs') ?? 0, 0),
    waitMaxMs: wholeNumber('waitMaxMs', pick('waitMaxMs') ?? 0, 0),
    reconcileAfterMs: wholeNumber('reconcileAfterMs', pick('reconcileAfterMs') ?? 60_000, 0),
    limits: checkedLimits(pick('limits') ?? null),
    storeSetCookie: false,
  });
}

function checkedLimits(limits: Limits | null): Limits | null {
  if (limits === null || typeof limits.takeNewKey === 'function') return limits;
  throw new OptionsError('limits must be what createLimits of samekey/guard returned.');
}

/** Checks a whole number within bounds. Throws `OptionsError` with the option's name. */
export function wholeNumber(
  name: string,
  value: number,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new OptionsError(
      `${name} must be a whole number from ${least} to ${most}; it is ${String(value)}.`,
    );
  }
  return value;
}

/** Checks a switch. Throws `OptionsError` with the option's name. */
export function trueOrFalse(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new OptionsError(`${name} must be true or false; it is ${String(value)}.`);
}

/** Refuses options that nothing reads: a misspelt safety option must not pass in silence. */
export function refuseUnknown(what: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new OptionsError(`${what} has no option "${name}": it takes ${known.toSorted().join(', ')}.`);
    }
  }
}
