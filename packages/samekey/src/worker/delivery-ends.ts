/**
 * Writes what became of deliveries, in groups, and repeats what the store could not answer for as long as the lease
 * lasts. A repeat after a lost reply finds the message gone, which is no loss.
 */

import { isStoreError } from '../core/errors.ts';
import type { DeadRequest, DoneRequest, LeaseResult, NoteRequest, RetryRequest } from '../store/message.ts';
import { pause } from '../core/pause.ts';
import type { DeliveringOptions } from './options.ts';
import { createGroup, type Submit } from './group.ts';

/** `unclear`: the store did not answer while the lease lasted; if it was not written, the message comes again. */
type EndResult = LeaseResult | 'unclear';

/** The verbs of a worker that end deliveries. */
export interface Ends {
  done(request: DoneRequest, leasedUntil: number): Promise<EndResult>;
  retry(request: RetryRequest, leasedUntil: number): Promise<EndResult>;
  dead(request: DeadRequest, leasedUntil: number): Promise<EndResult>;
  note(request: NoteRequest): Promise<LeaseResult>;
}

const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 1_000;

/** Makes them. */
export function createEnds({
  messages,
  emit,
  world,
}: Pick<DeliveringOptions, 'messages' | 'emit' | 'world'>): Ends {
  async function patiently<Request>(
    verb: string,
    submit: Submit<Request, LeaseResult>,
    request: Request,
    leasedUntil: number,
  ): Promise<EndResult> {
    let unclear = false;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
      try {
        const result = await submit(request);
        return result === 'lost' && unclear ? 'applied' : result;
      } catch (error) {
        emit({ type: 'store-error', verb, error });
        if (!isStoreError(error)) return 'unclear';
        unclear ||= error.applied === 'unknown';
        if (!error.transient || world.monotonicNow() + pauseMs >= leasedUntil) return 'unclear';
        await pause(world, pauseMs * (0.5 + world.random() / 2));
      }
    }
  }

  const dones = createGroup<DoneRequest, LeaseResult>(world, (requests) => messages.done(requests));
  const retries = createGroup<RetryRequest, LeaseResult>(world, (requests) => messages.retry(requests));
  const deads = createGroup<DeadRequest, LeaseResult>(world, (requests) => messages.dead(requests));
  const notes = createGroup<NoteRequest, LeaseResult>(world, (requests) => messages.note(requests));
  return {
    done: (request, leasedUntil) => patiently('done', dones, request, leasedUntil),
    retry: (request, leasedUntil) => patiently('retry', retries, request, leasedUntil),
    dead: (request, leasedUntil) => patiently('dead', deads, request, leasedUntil),
    note: notes,
  };
}
