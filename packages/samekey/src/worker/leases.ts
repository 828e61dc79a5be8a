/** Keeps the leases of running deliveries: one statement for all of them, three times per lease. */

import { FenceLostError } from '../core/errors.ts';
import type { RunningDelivery } from './delivery.ts';
import type { DeliveringOptions } from './options.ts';

/** Starts keeping; what it returns ends that. */
export function keepLeases(
  options: Pick<DeliveringOptions, 'messages' | 'leaseMs' | 'emit' | 'world'>,
  open: ReadonlySet<RunningDelivery>,
  release: (delivery: RunningDelivery) => void,
): () => void {
  const { messages, leaseMs, emit, world } = options;
  let extending = false;

  async function tick(): Promise<void> {
    const now = world.monotonicNow();
    const kept: RunningDelivery[] = [];
    for (const delivery of open) {
      if (now < delivery.runsUntil && !delivery.lost) kept.push(delivery);
      else if (!delivery.ended) timeUp(delivery, now);
    }
    if (kept.length === 0 || extending) return;
    extending = true;
    try {
      const results = await messages.extend(
        kept.map(({ lease }) => lease),
        leaseMs,
      );
      for (const [i, delivery] of kept.entries()) {
        if (results[i] === 'applied') delivery.leasedUntil = now + leaseMs;
        // Its end may have been written meanwhile: then nothing is lost.
        else if (open.has(delivery) && !delivery.ended) lose(delivery);
      }
    } catch (error) {
      emit({ type: 'store-error', verb: 'extend', error });
    } finally {
      extending = false;
    }
  }

  function lose(delivery: RunningDelivery): void {
    delivery.lost = true;
    delivery.abort(new FenceLostError());
    const { id, topic, started } = delivery.taken;
    if (delivery.tellLost()) emit({ type: 'lease-lost', id, topic, delivery: started });
    release(delivery);
  }

  /**
   * Its signal is aborted, its lease is left to end; then its place is another's, whether the handler listens or not.
   */
  function timeUp(delivery: RunningDelivery, now: number): void {
    if (delivery.lost) return;
    const { id, topic, started } = delivery.taken;
    if (!delivery.timedOut) {
      delivery.timedOut = true;
      delivery.abort(new Error('The handler ran longer than deliveryTimeMaxMs.'));
      emit({ type: 'time-up', id, topic, delivery: started });
    } else if (now >= delivery.leasedUntil) {
      delivery.lost = true;
      release(delivery);
    }
  }

  const everyMs = Math.max(10, leaseMs / 3);
  let timer = world.setTimer(everyMs, again);
  function again(): void {
    timer = world.setTimer(everyMs, again);
    void tick();
  }
  return () => timer.cancel();
}
