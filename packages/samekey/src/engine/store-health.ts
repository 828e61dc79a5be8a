/**
 * Tells when a store stops answering, and when it answers again (F98). Requests are answered 503 meanwhile, which says
 * nothing to whoever reads the process's log: one warning for each change, with the store's own message, which names
 * its mend.
 *
 * Not a change: a store that is busy, or refuses one row.
 */

import { errorCode, type StoreError } from '../core/errors.ts';
import type { World } from '../core/world.ts';

/** What the dispatcher tells of its calls. */
interface StoreHealth {
  answered(): void;
  failed(error: StoreError): void;
}

/** Makes it for one store. */
export function createStoreHealth(name: string, world: Pick<World, 'monotonicNow' | 'warn'>): StoreHealth {
  let downAt: number | null = null;
  let failures = 0;
  return {
    answered() {
      if (downAt === null) return;
      const downMs = Math.round(world.monotonicNow() - downAt);
      downAt = null;
      world.warn(
        'store-up',
        `The store "${name}" answers again, after ${downMs} ms and ${failures} failed calls. Requests are served.`,
      );
    },
    failed(error) {
      if (error.busy || !error.transient) return;
      failures = downAt === null ? 1 : failures + 1;
      if (downAt !== null) return;
      downAt = world.monotonicNow();
      world.warn(
        'store-down',
        `The store "${name}" does not answer, so requests are answered 503 and nothing runs. ${messageOf(error)} Call await samekey.ready() at start to find this before the first request.`,
      );
    },
  };
}

/** What a store threw beside its StoreErrors, such as a SchemaError, names the mend itself. */
function messageOf({ message, cause }: StoreError): string {
  return errorCode(cause) === undefined ? message : (cause as Error).message;
}
