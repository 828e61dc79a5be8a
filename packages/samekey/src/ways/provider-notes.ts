/**
 * What a provider calls a call that is under way, noted with its intent: a webhook that comes when the process has died
 * finds the record by it.
 *
 * Invariants: notes are written one after the other and none after the end of the call, so nothing is written over what
 * the end stores · a note is a hint: a store that does not answer takes a quarter of the call's time at most.
 */

import { StepError } from '../core/errors.ts';
import type { World } from '../core/world.ts';

/** Notes of one call. */
interface ProviderNotes {
  readonly note: (providerId: string) => Promise<void>;
  /** Makes the call; ends as it does, and not before the last note. */
  readonly during: <Result>(call: () => Promise<Result>) => Promise<Result>;
}

const PROVIDER_ID_LENGTH_MAX = 255;

/** Whether it can be noted. */
export function isProviderId(providerId: unknown): providerId is string {
  return typeof providerId === 'string' && providerId !== '' && providerId.length <= PROVIDER_ID_LENGTH_MAX;
}

/** Throws `StepError` for what cannot be noted. */
export function checkProviderId(providerId: unknown): asserts providerId is string {
  if (isProviderId(providerId)) return;
  throw new StepError(`A provider's id is a text of 1 to ${PROVIDER_ID_LENGTH_MAX} characters.`);
}

/** Begins; `write` stores one, and stops trying once `isOver`. */
export function createNotes(
  world: Pick<World, 'setTimer'>,
  callTimeMaxMs: number,
  write: (providerId: string, isOver: () => boolean) => Promise<void>,
): ProviderNotes {
  let last: Promise<void> = Promise.resolve();
  let ended = false;
  const inTime = (written: Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = world.setTimer(callTimeMaxMs / 4, resolve);
      written.finally(() => timer.cancel()).then(resolve, reject);
    });
  return {
    note: async (providerId: string): Promise<void> => {
      if (ended) throw new StepError('The call has ended: return what the provider calls it.');
      checkProviderId(providerId);
      last = last.then(() => (ended ? undefined : write(providerId, () => ended)));
      await inTime(last);
    },
    during: async (call) => {
      try {
        return await call();
      } finally {
        ended = true;
        await last.catch(() => undefined);
      }
    },
  };
}
