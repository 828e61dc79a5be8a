/** Which call of a record is open: what its steps say of the effect that has an intent and no result. */

import type { SamekeyRecord } from '../core/record.ts';
import { OptionsError } from '../core/errors.ts';
import { downstreamKeyText, openIntent, readSteps, stepsTextWith } from '../ways/steps.ts';
import type { World } from '../core/world.ts';

/** An effect of which nobody knows whether it happened. */
export interface OpenEffect {
  readonly name: string;
  /** The key that its calls carry. */
  readonly downstreamKey: string;
  /** By which rule it is repeated; null in what earlier code has stored. */
  readonly rule: 'downstreamKey' | 'inquire' | 'reconcile' | null;
  /** Whom it calls, if the effect names it: nobody else knows of it. */
  readonly provider: string | null;
  /** How long its call may take, in milliseconds; null in what earlier code has stored. */
  readonly callTimeMaxMs: number | null;
  /** With the rule `downstreamKey`: how long the provider remembers the key, in milliseconds; else null. */
  readonly retentionMs: number | null;
  /** The attempt that stored the intent; null in what earlier code has stored. */
  readonly attempt: number | null;
  /** What the provider calls it, if the call noted that. */
  readonly providerId: string | null;
}

/** The open effect of a record; null when there is none, or when newer code wrote its steps. */
export async function openEffectOf(
  record: SamekeyRecord,
  world: Pick<World, 'sha256'>,
): Promise<OpenEffect | null> {
  const intent = openIntent(readSteps(record.steps) ?? []);
  if (intent === null || record.fingerprint === null) return null;
  const { name, call } = intent;
  const text = downstreamKeyText({ ...record, fingerprint: record.fingerprint }, name);
  return {
    name,
    downstreamKey: await world.sha256(new TextEncoder().encode(text)),
    rule: call?.rule ?? null,
    provider: call?.provider ?? null,
    callTimeMaxMs: call?.timeMaxMs ?? null,
    retentionMs: call?.retentionMs ?? null,
    attempt: call?.attempt ?? null,
    providerId: call?.providerId ?? null,
  };
}

/**
 * The steps with what the open effect's call would have given; undefined when that effect's result stands there
 * already. Throws `OptionsError` when there is no effect, and `ValueError` for a result that JSON cannot hold.
 */
export function stepsWithResult(record: SamekeyRecord, result: unknown): string | undefined {
  const steps = readSteps(record.steps) ?? [];
  const intent = openIntent(steps);
  if (intent === null) {
    if (steps.some(({ kind }) => kind === 'effect')) return undefined;
    throw new OptionsError(
      '"took-effect" is about an effect, and there is none: say "completed" with the answer.',
    );
  }
  return stepsTextWith(steps, intent, result);
}
