/**
 * The way from a process to the database: each call is a message there and one back, and the step at the database
 * shows the row as the call has left it. It changes nothing on the way: what is wrong with a variant is behind it,
 * in the store that it is given.
 */

import type { FakeWorld, Random } from '@samekey/testing/world';
import { StoreError } from 'samekey/internals/core/errors';
import type { RecordId, SamekeyRecord } from 'samekey/internals/core/record';
import type { Store } from 'samekey/internals/store/store';

import type { Recorder } from './run-recorder.ts';
import { rowOf } from './shown-row.ts';
import {
  claimText,
  fenceText,
  finishText,
  tellCheckpoint,
  tellClaim,
  tellFinish,
  tellRenewal,
  tellSettled,
  type Told,
  WORDS,
} from './store-words.ts';
import type { LaneId, Tone } from './trace.ts';
import type { Ways } from './ways.ts';

/** What a connection is between. */
interface ConnectionOptions {
  readonly lane: LaneId;
  readonly world: FakeWorld;
  readonly ways: Ways;
  readonly random: Random;
  readonly recorder: Recorder;
  /** Behind it. */
  readonly store: Store;
}

/** So long a process waits for the database. */
const SILENT_MS = 2_000;

interface Call<Result> {
  readonly label: string;
  readonly asks: string | null;
  readonly tone?: Tone;
  readonly body: string;
  readonly id: RecordId | null;
  readonly apply: () => Promise<Result>;
  readonly tell: (result: Result, before: SamekeyRecord | null, after: SamekeyRecord | null) => Told;
}

/** Connects a process with the store. */
export function connect(options: ConnectionOptions): Store {
  const { lane, world, ways, random, recorder, store } = options;
  const me = recorder.nameOf(lane);
  const wayMs = (): number => random.between(2, 8);

  function travel<Result>(call: Call<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      // As drivers do: who hears nothing gives up, and does not know what was done.
      const givesUp = (): void => {
        const silent = new StoreError('The database did not answer in time.', { applied: 'unknown' });
        world.setTimer(SILENT_MS, () => reject(silent));
      };
      const sending = { from: lane, to: 'store', label: call.label, body: call.body } as const;
      const [asked = -1] = recorder.happens({
        lane,
        caption: call.asks ?? `${me} asks the database.`,
        sends: [{ ...sending, tone: call.tone ?? 'claim' }],
      });
      const applied = (): void => {
        void (async () => {
          const before = await read(call.id);
          const result = await call.apply();
          recorder.arrives(asked);
          const after = await read(call.id);
          if (after !== null) recorder.row(rowOf(after, recorder.lanes));
          const { reply, tone = 'plain', ...told } = call.tell(result, before, after);
          const [answered = -1] = recorder.happens({
            lane: 'store',
            ...told,
            tone,
            sends: [{ from: 'store', to: lane, label: reply, tone }],
          });
          const heard = (): void => {
            recorder.arrives(answered);
            resolve(result);
          };
          ways.go(answered, wayMs(), () => world.deliver(heard), givesUp);
        })().catch(reject);
      };
      ways.go(asked, wayMs(), applied, givesUp);
    });
  }

  async function read(id: RecordId | null): Promise<SamekeyRecord | null> {
    return id === null ? null : ((await store.find([id]))[0] ?? null);
  }

  return {
    ...store,
    claim: (requests) =>
      travel({
        label: 'claim',
        asks: `${me} asks the database for the right to run this key.`,
        body: claimText(requests[0]),
        id: requests[0] ?? null,
        apply: () => store.claim(requests),
        tell: ([result], before) => tellClaim(result, before, me),
      }),
    renew: (requests) =>
      travel({
        label: 'renew',
        asks: `${me} is still at work and asks for more time.`,
        body: fenceText(requests[0]),
        id: requests[0] ?? null,
        apply: () => store.renew(requests),
        tell: ([result]) => tellRenewal(result, me),
      }),
    checkpoint: (requests) =>
      travel({
        label: 'note a step',
        asks: `${me} notes in the row how far it is.`,
        body: fenceText(requests[0]),
        id: requests[0] ?? null,
        apply: () => store.checkpoint(requests),
        tell: ([result], before, after) => tellCheckpoint(result?.kind, requests[0], { before, after }, me),
      }),
    finish: (requests) =>
      travel({
        label: `end: ${requests[0]?.to ?? ''}`,
        asks: `${me} asks the database to keep how it ended: ${WORDS[requests[0]?.to ?? 'completed']}.`,
        body: finishText(requests[0]),
        id: requests[0] ?? null,
        apply: () => store.finish(requests),
        tell: ([result], before) => tellFinish(result, requests[0], before, me),
      }),
    settle: (requests) =>
      travel({
        label: 'settle',
        asks:
          requests[0]?.to === 'retryable'
            ? `${me} believes it: nothing happened, so the key may run again.`
            : `${me} settles the row: what happened is known now, and this is the answer.`,
        body: requests
          .map(({ to, claimId, attempt }) => `to ${to}\nclaim ${claimId}\nattempt ${attempt}`)
          .join('\n'),
        id: requests[0] ?? null,
        apply: () => store.settle(requests),
        tell: ([result], before) => tellSettled(result?.kind, requests[0]?.to, before),
      }),
    // Who looks for work often finds none: that is no step.
    async takeUnknown(request) {
      const taken = await store.takeUnknown(request);
      const [record] = taken;
      if (record === undefined) return taken;
      return travel({
        label: 'what is unknown?',
        asks: `${me} looks for rows whose outcome nobody knows.`,
        body: '',
        id: record,
        apply: async () => taken,
        tell: () => ({
          caption: `The database gives it the key ${record.key}: its outcome is unknown.`,
          reply: record.key,
        }),
      });
    },
    find: (ids) =>
      travel({
        label: 'read',
        asks: `${me} reads the row.`,
        body: '',
        id: ids[0] ?? null,
        apply: () => store.find(ids),
        tell: () => ({ caption: 'The database says what the row holds.', reply: 'row' }),
      }),
  };
}
