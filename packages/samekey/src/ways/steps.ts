/**
 * What a phased attempt has done so far: results of phases, intents and results of effects, in order, as JSON in the
 * record.
 *
 * Invariants: one format, versioned; what newer code wrote is not read as something else · only the last step may be an
 * intent without a result · what comes back is what was stored, also within the attempt that stored it.
 */

import { ValueError } from '../core/errors.ts';
import { jsonOf } from '../fingerprint/json-value.ts';

/** One step. */
export type Step =
  | { readonly kind: 'phase'; readonly name: string; readonly result: unknown }
  | {
      readonly kind: 'effect';
      readonly name: string;
      /** Digest of what the call sends: on a repeat it must be the same. */
      readonly input: string;
      /** Null while nobody knows how the call ended. */
      readonly done: { readonly result: unknown } | null;
      /** Of an intent: what a reconciler must know of the call. Absent in what earlier code has stored. */
      readonly call?: IntentCall;
    };

/** The call that an intent stands for. */
export interface IntentCall {
  /** The attempt that stored the intent. */
  readonly attempt: number;
  readonly rule: 'downstreamKey' | 'inquire' | 'reconcile';
  /** How long the call may take, in milliseconds. */
  readonly timeMaxMs: number;
  /** With `downstreamKey`: how long the provider remembers keys, in milliseconds. */
  readonly retentionMs?: number;
  /** Who is called, if the effect names it. */
  readonly provider?: string;
  /** What the provider calls it, if it said so before the call ended. */
  readonly providerId?: string;
}

const VERSION = 1;

/** As the record keeps them: null when there is none, also when there was one that was taken back (F76). */
export function stepsText(steps: readonly [...Step[], Step]): string;
export function stepsText(steps: readonly Step[]): string | null;
export function stepsText(steps: readonly Step[]): string | null {
  if (steps.length === 0) return null;
  return JSON.stringify({ v: VERSION, steps });
}

/** From the record; null when newer code wrote them in a way this code does not know. */
export function readSteps(text: string | null): Step[] | null {
  if (text === null) return [];
  const stored = JSON.parse(text) as { readonly v: number; readonly steps: Step[] };
  return stored.v === VERSION ? stored.steps : null;
}

/** The last step if it is an intent without a result. */
export function openIntent(steps: readonly Step[]): Extract<Step, { kind: 'effect' }> | null {
  const last = steps.at(-1);
  return last?.kind === 'effect' && last.done === null ? last : null;
}

/**
 * What the downstream key of an effect is a digest of. Its record's creation is the generation: a new use of an expired
 * key never meets the old payment (F55).
 */
export function downstreamKeyText(
  { scope, key, fingerprint, createdAt }: DownstreamKeyOf,
  effect: string,
): string {
  return JSON.stringify(['samekey-effect-1', scope, key, fingerprint.digest, effect, createdAt]);
}

/** What of a record goes into its downstream keys. */
interface DownstreamKeyOf {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: { readonly digest: string };
  readonly createdAt: number;
}

/** Largest result of a step, as JSON in bytes. */
const RESULT_MAX_BYTES = 64 * 1024;

/**
 * A result as it comes back from its record, whoever gives it. Throws `ValueError` for what JSON cannot hold, and what
 * is too large.
 */
export function keptResult(name: string, result: unknown): unknown {
  const what = `The result of "${name}"`;
  const text = jsonOf(what, result) ?? 'null';
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > RESULT_MAX_BYTES) {
    throw new ValueError(
      'too-large',
      '',
      `${what} has ${bytes} bytes as JSON, ${RESULT_MAX_BYTES} is the most: keep large data in a table of yours and return its id.`,
    );
  }
  return JSON.parse(text);
}

/**
 * The steps with the result of their open effect, which somebody else has learned. Throws as {@link keptResult} does.
 */
export function stepsTextWith(
  steps: readonly Step[],
  { kind, name, input }: Extract<Step, { kind: 'effect' }>,
  result: unknown,
): string {
  return stepsText([
    ...steps.slice(0, -1),
    { kind, name, input, done: { result: keptResult(name, result) } },
  ]);
}

/** The last committed phase. */
export function recoveryPointOf(steps: readonly Step[]): string | null {
  return steps.findLast((step) => step.kind === 'phase')?.name ?? null;
}
