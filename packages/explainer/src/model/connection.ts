/**
 * The way from a process to the database: each call is a message there and one back, and the step at the database
 * shows the row as the call has left it. It changes nothing on the way: what is wrong with a variant is behind it,
 * in the store that it is given.
 */

import type { FakeWorld, Random, Timeline } from '@samekey/testing/world';
import type { RecordId, SamekeyRecord } from 'samekey/internals/core/record';
import type {
  CheckpointRequest,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  RenewRequest,
  RenewResult,
  Store,
} from 'samekey/internals/store/store';
import type { Recorder } from './run-recorder.ts';
import { rowOf } from './shown-row.ts';
import type { LaneId, Mark, Tone } from './trace.ts';

/** What a connection is between. */
interface ConnectionOptions {
  readonly lane: LaneId;
  readonly world: FakeWorld;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly recorder: Recorder;
  /** Behind it. */
  readonly store: Store;
}

/** What is said of a call. */
interface Told {
  readonly caption: string;
  readonly tone?: Tone;
  readonly marks?: readonly Mark[];
  /** What the reply is called. */
  readonly reply: string;
}

interface Call<Result> {
  readonly label: string;
  readonly asks: string | null;
  readonly tone?: Tone;
  readonly body: string;
  readonly id: RecordId | null;
  readonly apply: () => Promise<Result>;
  readonly tell: (result: Result, before: SamekeyRecord | null) => Told;
}

/** Connects a process with the store. */
export function connect(options: ConnectionOptions): Store {
  const { lane, world, timeline, random, recorder, store } = options;
  const me = recorder.titleOf(lane);
  const wayMs = (): number => random.between(2, 8);

  function travel<Result>(call: Call<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const sending = { from: lane, to: 'store', label: call.label, body: call.body } as const;
      const [asked = -1] = recorder.happens({
        lane,
        caption: call.asks ?? `${me} asks the database.`,
        sends: [{ ...sending, tone: call.tone ?? 'claim' }],
      });
      timeline.setTimer(wayMs(), () => {
        void (async () => {
          const before = await read(call.id);
          const result = await call.apply();
          recorder.arrives(asked);
          await show(call.id);
          const { reply, tone = 'plain', ...told } = call.tell(result, before);
          const [answered = -1] = recorder.happens({
            lane: 'store',
            ...told,
            tone,
            sends: [{ from: 'store', to: lane, label: reply, tone }],
          });
          timeline.setTimer(wayMs(), () =>
            world.deliver(() => {
              recorder.arrives(answered);
              resolve(result);
            }),
          );
        })().catch(reject);
      });
    });
  }

  async function read(id: RecordId | null): Promise<SamekeyRecord | null> {
    return id === null ? null : ((await store.find([id]))[0] ?? null);
  }

  async function show(id: RecordId | null): Promise<void> {
    const record = await read(id);
    if (record !== null) recorder.row(rowOf(record, recorder.lanes));
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
        tell: ([result]) => tellClaim(result, me),
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
        tell: ([result], before) => tellCheckpoint(result?.kind, requests[0], before, me),
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

const WORDS: Readonly<Record<FinishRequest['to'], string>> = {
  completed: 'done, with this answer',
  failed: 'refused, with this answer',
  retryable: 'nothing happened, it may run again',
  unknown: 'nobody knows what happened',
};

function claimText(request: ClaimRequest | undefined): string {
  if (request === undefined) return '';
  return `key ${request.key}\nclaim ${request.claimId}\nfingerprint ${request.fingerprint.digest.slice(0, 10)}\nfor ${request.claimTtlMs / 1000} s`;
}

function fenceText(request: RenewRequest | CheckpointRequest | undefined): string {
  return request === undefined ? '' : `claim ${request.claimId}\nattempt ${request.attempt}`;
}

function finishText(request: FinishRequest | undefined): string {
  if (request === undefined) return '';
  const { response } = request;
  const body = response?.body ?? null;
  const answer = body === null ? '' : `\n${response?.status ?? ''} ${new TextDecoder().decode(body)}`;
  return `${fenceTextOf(request)}\nstate ${request.to}${answer}`;
}

function fenceTextOf({ claimId, attempt }: FinishRequest): string {
  return `claim ${claimId}\nattempt ${attempt}`;
}

function tellClaim(result: ClaimResult | undefined, me: string): Told {
  if (result?.kind === 'claimed') {
    if (result.attempt === 1)
      return {
        caption: `The database knows no such key. It writes a row: the key is claimed, and only ${me} may run it.`,
        tone: 'claim',
        marks: ['claimed'],
        reply: 'claimed',
      };
    return {
      caption: `The earlier attempt holds the key no more. The database gives it to ${me}, as attempt ${result.attempt}.`,
      tone: 'claim',
      marks: ['claimed', 'taken-over'],
      reply: `claimed, attempt ${result.attempt}`,
    };
  }
  if (result?.kind !== 'found') return { caption: 'The database grants nothing.', reply: 'not now' };
  switch (result.because) {
    case 'final':
      return {
        caption: 'The row is finished. The database hands out the answer that it holds.',
        tone: 'good',
        reply: 'stored answer',
      };
    case 'in-progress':
      return {
        caption: `The key is claimed by somebody else, who is still at work. ${me} does not get it.`,
        tone: 'claim',
        marks: ['claim-refused'],
        reply: 'in progress',
      };
    case 'mismatch':
      return {
        caption:
          'The fingerprint of this request is another one than that of the row. The database grants nothing.',
        tone: 'good',
        marks: ['mismatch'],
        reply: 'another request',
      };
    case 'unknown':
      return {
        caption:
          'The row says "unknown": the first attempt may have taken the money. The database lets nobody run it.',
        tone: 'claim',
        marks: ['unknown'],
        reply: 'unknown',
      };
    default:
      return { caption: `The database grants nothing: ${result.because}.`, reply: result.because };
  }
}

function tellRenewal(result: RenewResult | undefined, me: string): Told {
  return result?.kind === 'renewed'
    ? { caption: `The database makes the claim of ${me} last longer.`, tone: 'claim', reply: 'renewed' }
    : {
        caption: `The key is not ${me}'s any more: the database renews nothing.`,
        tone: 'good',
        marks: ['late-write-refused'],
        reply: 'lost',
      };
}

function tellCheckpoint(
  kind: 'applied' | 'refused' | 'busy' | undefined,
  request: CheckpointRequest | undefined,
  before: SamekeyRecord | null,
  me: string,
): Told {
  if (kind !== 'applied') return refused(request?.attempt, before, me);
  const open = request?.intentOpen === true;
  return {
    caption: open
      ? `The row now says that ${me} is about to call the provider. Whoever comes later knows of the call.`
      : 'The row now holds what the provider said.',
    tone: 'claim',
    reply: 'noted',
  };
}

function tellFinish(
  result: FinishResult | undefined,
  request: FinishRequest | undefined,
  before: SamekeyRecord | null,
  me: string,
): Told {
  if (result?.kind !== 'applied' && result?.kind !== 'already') return refused(request?.attempt, before, me);
  if (before !== null && request !== undefined && before.attempt !== request.attempt)
    return {
      caption: `${me} is late: the row belongs to attempt ${before.attempt}. Nothing checks that, and the late write goes over it.`,
      tone: 'danger',
      marks: ['late-write-taken'],
      reply: 'written',
    };
  switch (request?.to) {
    case 'unknown':
      return {
        caption: 'The row now says "unknown": the money may have been taken or not. Nobody guesses.',
        tone: 'claim',
        marks: ['unknown'],
        reply: 'written',
      };
    case 'retryable':
      return {
        caption: 'The row now says that nothing happened: the next request may run.',
        tone: 'claim',
        reply: 'written',
      };
    default:
      return {
        caption: 'The row is finished. It holds the answer for everybody who asks again.',
        tone: 'good',
        marks: ['stored'],
        reply: 'stored',
      };
  }
}

function refused(attempt: number | undefined, before: SamekeyRecord | null, me: string): Told {
  return {
    caption: `${me} is late: it writes as attempt ${attempt ?? '?'}, and the row belongs to attempt ${before?.attempt ?? '?'}. The fence refuses the write; nothing changes.`,
    tone: 'good',
    marks: ['late-write-refused'],
    reply: 'refused',
  };
}
