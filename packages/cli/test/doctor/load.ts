/** A healthy installation at work: requests, retries, refusals, messages, a worker and a janitor. */

import { createSamekey, reply, type Store } from 'samekey';
import { createJanitor } from 'samekey/janitor';
import { createOutbox } from 'samekey/outbox';
import { createWorker } from 'samekey/worker';

/** It goes on until it is stopped. */
export interface Load {
  /** Resolves when requests have been answered and messages delivered. */
  isUnderWay(): Promise<void>;
  stop(): Promise<void>;
}

const CLIENTS = 3;
/** Then there is something to measure, and every kind of record. */
const UNDER_WAY = 40;

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let wake: (() => void) | undefined;
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, resolve: () => wake?.() };
}

/** Starts it. */
export function startLoad(store: Store): Load {
  const samekey = createSamekey({ store, policy: 'payments', retentionMs: 2 * 86_400_000 });
  const outbox = createOutbox({ store });
  let delivered = 0;
  let answered = 0;
  const worker = createWorker({ store, handlers: { mail: async () => void (delivered += 1) } });
  const janitor = createJanitor({ store });
  worker.start();
  janitor.start();
  const state = { going: true };
  const { promise: underWay, resolve: wake } = withResolvers();
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    while (state.going) {
      const key = crypto.randomUUID();
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await samekey.run(
          { operation: 'POST /payments', scope: [`caller-${client}`], key, fingerprint: { key } },
          () => reply(answered % 5 === 0 ? 422 : 201, { key }),
        );
      }
      await outbox.enqueueAlone({ topic: 'mail', payload: { key } });
      answered += 1;
      if (answered >= UNDER_WAY && delivered >= UNDER_WAY / 2) wake();
    }
  });
  return {
    isUnderWay: () => underWay,
    async stop() {
      state.going = false;
      await Promise.all(clients);
      await worker.stop();
      await janitor.stop();
      await samekey.close();
    },
  };
}
