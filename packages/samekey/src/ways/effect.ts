/**
 * Effects: one call each to a system outside of the transaction (contract §5.5). Rules and their checks; how a call is
 * made is in `phased.ts`.
 */

import type { Comparable } from '../fingerprint/digest.ts';
import { OptionsError } from '../core/errors.ts';
import type { IntentCall } from './steps.ts';
import {
  aFunction,
  anything,
  checkWholeNumber,
  oneOf,
  readOptions,
  required,
  type Table,
  text,
  wholeNumber,
} from '../core/options.ts';

/** What a call is told. */
export interface EffectCall {
  /**
   * A key for the provider, equal in every repeat of this effect and different for every other one: derived from scope,
   * key, fingerprint, the record's creation and the effect's name. 43 characters of base64url.
   */
  readonly downstreamKey: string;
  /** Whether an earlier attempt may have made this call: its intent is stored, its result is not. */
  readonly mayHaveRunBefore: boolean;
  /** Aborted at `callTimeMaxMs`, and when the attempt's time is up. */
  readonly signal: AbortSignal;
  /**
   * Notes what the provider calls it while the call is under way, so that a webhook with this id finds the record,
   * whatever becomes of this process. 1–255 characters. Resolves when it is stored, or when a store has not said so for
   * a quarter of `callTimeMaxMs`: it fails nothing. Throws `StepError` after the call has ended: return the id then.
   */
  readonly noteProviderId: (providerId: string) => Promise<void>;
}

/** What a question after an earlier call is told. */
export type EffectQuestion = Omit<EffectCall, 'noteProviderId'>;

/** What an error of the call means. */
export type EffectVerdict = 'notExecuted' | 'unknown';

/** What every rule may say. */
interface EffectOptions {
  /**
   * Whom it calls, such as `stripe`: a name that you choose. It is stored with the intent, and what was begun with one
   * provider is repeated with no other. Name it before you change it.
   */
  readonly provider?: string;
  /**
   * What the call sends, plain JSON or bytes: its digest is stored with the intent, and a repeat must send the same.
   */
  readonly input?: Comparable;
  /**
   * How long the call may take, in milliseconds; default 10,000. At least so much of the claim must be left before it.
   */
  readonly callTimeMaxMs?: number;
  /**
   * What an error means; default: `NotExecutedError`, refused connections and failed look-ups of names are
   * `notExecuted`, everything else is `unknown`.
   */
  readonly classify?: (error: unknown) => EffectVerdict;
}

/**
 * What a later attempt does when it finds an intent without a result. `downstreamKey`: makes the call again with the
 * same key, as long as the provider remembers keys. `inquire`: asks the provider. `reconcile`: stops; the record
 * becomes `unknown`.
 */
export type EffectRule<Result> =
  | (EffectOptions & {
      readonly rule: 'downstreamKey';
      /** How long the provider remembers keys, in milliseconds; a repeat past it is refused (F21). */
      readonly retentionMs: number;
    })
  | (EffectOptions & {
      readonly rule: 'inquire';
      /**
       * Asks whether the call took effect. Resolves with its result, or with null for "not found": then the call is
       * made again, once nothing of the earlier one can be under way. A rejection means that nobody knows.
       */
      readonly inquire: (call: EffectQuestion) => Promise<{ readonly result: Result } | null>;
    })
  | (EffectOptions & { readonly rule: 'reconcile' });

const CALL_TIME_MAX_MS = 10_000;

const EFFECT_ROWS = {
  provider: text(),
  input: anything<Comparable>(),
  callTimeMaxMs: wholeNumber(1),
  classify: aFunction(),
} satisfies Table<EffectOptions>;

type RuleOf<Kind> = Extract<EffectRule<never>, { readonly rule: Kind }>;

const RULE_ROWS = {
  downstreamKey: {
    ...EFFECT_ROWS,
    rule: required(oneOf(['downstreamKey'])),
    retentionMs: required(wholeNumber(1)),
  } satisfies Table<RuleOf<'downstreamKey'>>,
  inquire: {
    ...EFFECT_ROWS,
    rule: required(oneOf(['inquire'])),
    inquire: required(aFunction()),
  } satisfies Table<RuleOf<'inquire'>>,
  reconcile: { ...EFFECT_ROWS, rule: required(oneOf(['reconcile'])) } satisfies Table<RuleOf<'reconcile'>>,
};

/** Checks a rule and returns how long its call may take. Throws `OptionsError`. */
export function checkRule(name: string, rule: EffectRule<never>, claimTtlMs: number): number {
  const kind = rule?.rule;
  if (kind !== 'downstreamKey' && kind !== 'inquire' && kind !== 'reconcile') {
    throw new OptionsError(
      `The effect "${name}" needs a rule: "downstreamKey" with retentionMs, "inquire" with a function, or "reconcile"; it has ${String(kind)}.`,
    );
  }
  readOptions(`The effect "${name}"`, RULE_ROWS[kind], rule);
  return checkWholeNumber(
    `callTimeMaxMs of the effect "${name}" (claimTtlMs is ${claimTtlMs})`,
    rule.callTimeMaxMs ?? Math.min(CALL_TIME_MAX_MS, Math.floor(claimTtlMs / 2)),
    1,
    claimTtlMs - 1,
  );
}

/**
 * How an intent without a result is repeated by the code that finds it (F110). What is stored decides: `same`, by its
 * rule; `stricter`, the code asks nobody and repeats nothing; `other`, not at all, because another rule or another
 * provider knows nothing of that call.
 */
export function repeatOf(
  call: IntentCall | undefined,
  rule: Pick<EffectRule<never>, 'rule' | 'provider'>,
): 'same' | 'stricter' | 'other' {
  if (rule.rule === 'reconcile') return 'stricter';
  return call?.rule === rule.rule && call.provider === rule.provider ? 'same' : 'other';
}

/**
 * The bounds of a call, by the code and by what is stored of an earlier one: the longer time, and the shorter
 * retention.
 */
export function boundsOf(
  rule: EffectRule<never>,
  callTimeMaxMs: number,
  call?: IntentCall,
): { readonly timeMaxMs: number; readonly retentionMs: number } {
  const retentionMs = rule.rule === 'downstreamKey' ? rule.retentionMs : Number.POSITIVE_INFINITY;
  return {
    timeMaxMs: Math.max(callTimeMaxMs, call?.timeMaxMs ?? 0),
    retentionMs: Math.min(retentionMs, call?.retentionMs ?? Number.POSITIVE_INFINITY),
  };
}

/** No byte of a request can have left: the name was not found, or nobody listened. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ERR_SAMEKEY_NOT_EXECUTED']);

/** The default of `classify`. `fetch` wraps the system's error. */
export function classifyError(error: unknown): EffectVerdict {
  let one: unknown = error;
  for (let depth = 0; depth < 4 && typeof one === 'object' && one !== null; depth += 1) {
    const { code, cause } = one as { readonly code?: unknown; readonly cause?: unknown };
    if (typeof code === 'string' && NOT_SENT.has(code)) return 'notExecuted';
    one = cause;
  }
  return 'unknown';
}
