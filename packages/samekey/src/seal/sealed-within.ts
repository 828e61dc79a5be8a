/**
 * The verbs inside an open transaction, sealed as outside of it. With a synchronous ring they stay as synchronous as
 * they were.
 */

import type { NewRecord, Within } from '../store/transaction.ts';
import { after, all, type Maybe } from './maybe.ts';
import { sealCheckpoint } from './sealed-references.ts';
import { sealAnswer, type Sealer } from './sealer.ts';

/** Seals what goes in, opens the record that a refusal shows. */
export function withinSealed(
  within: Within,
  sealer: Sealer,
  openResult: <Result>(result: Result) => Maybe<Result>,
): Within {
  return {
    ...within,
    finish: (request) =>
      after(
        after(sealer.response(request, request.response), (response) =>
          within.finish({ ...request, response }),
        ),
        openResult,
      ),
    checkpoint: (request) =>
      after(
        after(sealCheckpoint(sealer, request), (made) => within.checkpoint(made)),
        openResult,
      ),
    handOver: (owner) => after(within.handOver(owner), openResult),
    ...(within.record && {
      record: ({ claim, end }: NewRecord) =>
        after(
          after(end === null ? null : sealAnswer(sealer, end), (sealed) =>
            (within as Required<Within>).record({ claim, end: sealed }),
          ),
          openResult,
        ),
    }),
    enqueue: (messages) =>
      after(all(messages.map((message) => sealer.message(message))), (made) => within.enqueue(made)),
  };
}
