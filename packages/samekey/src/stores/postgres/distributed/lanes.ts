/**
 * Several connections that do one kind of work. Each row is a statement of its own here, so a flush of many rows goes
 * out on all of them at once; each statement goes to the connection with the least to do.
 */

import { isStoreError, StoreError } from '../../../core/errors.ts';
import { idText, type RecordId } from '../../../core/record.ts';
import type { Link } from '../link.ts';

/** Makes `count` connections look like one. */
export function createLanes(count: number, make: () => Link): Link {
  const lanes = Array.from({ length: count }, () => ({ link: make(), under: 0 }));

  async function on<T>(work: (link: Link) => Promise<T>): Promise<T> {
    const lane = lanes.reduce((least, next) => (next.under < least.under ? next : least));
    lane.under += 1;
    try {
      return await work(lane.link);
    } finally {
      lane.under -= 1;
    }
  }

  return {
    ask: (statement, values) => on((link) => link.ask(statement, values)),
    together: (work) => on((link) => link.together(work)),
    async close() {
      await Promise.all(lanes.map(({ link }) => link.close()));
    },
  };
}

/**
 * Answers one bulk call, each request by itself; those of one record go one after the other, in their order. The call
 * has one answer: if one request fails and another was answered, nobody knows what of the call was applied.
 */
export async function eachAlone<Request extends RecordId, Result>(
  requests: readonly Request[],
  answer: (request: Request) => Promise<Result>,
): Promise<readonly Result[]> {
  const last = new Map<string, Promise<unknown>>();
  const settled = await Promise.allSettled(
    requests.map((request) => {
      const id = idText(request);
      const before = last.get(id);
      const result =
        before === undefined
          ? answer(request)
          : before.then(
              () => answer(request),
              () => answer(request),
            );
      last.set(id, result);
      return result;
    }),
  );
  const failed = settled.find((one): one is PromiseRejectedResult => one.status === 'rejected');
  if (failed === undefined)
    return settled.map((one) => (one as PromiseFulfilledResult<Awaited<Result>>).value);
  const error: unknown = failed.reason;
  if (!isStoreError(error)) throw error;
  const isNothingDone = settled.every(
    (one) => one.status === 'rejected' && isStoreError(one.reason) && one.reason.applied === 'no',
  );
  if (isNothingDone) throw error;
  const { message, busy, cause } = error;
  // What the server can never hold is found by halving: it is told, whichever failed first.
  const transient = settled.every(
    (one) => one.status === 'fulfilled' || !isStoreError(one.reason) || one.reason.transient,
  );
  throw new StoreError(message, { applied: 'unknown', transient, busy, cause });
}
