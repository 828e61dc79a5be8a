/** What is said of each call of the database: what it asks, and what it came to. */

import type { SamekeyRecord } from 'samekey/internals/core/record';
import type {
  CheckpointRequest,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  RenewRequest,
  RenewResult,
} from 'samekey/internals/store/store';
import type { Mark, Tone } from './trace.ts';

/** What is said of a call. */
export interface Told {
  readonly caption: string;
  readonly tone?: Tone;
  readonly marks?: readonly Mark[];
  /** What the reply is called. */
  readonly reply: string;
}

/** How an attempt ended, in words. */
export const WORDS: Readonly<Record<FinishRequest['to'], string>> = {
  completed: 'done, with this answer',
  failed: 'refused, with this answer',
  retryable: 'nothing happened, it may run again',
  unknown: 'nobody knows what happened',
};

/** What a claim asks for. */
export function claimText(request: ClaimRequest | undefined): string {
  if (request === undefined) return '';
  return `key ${request.key}\nclaim ${request.claimId}\nfingerprint ${request.fingerprint.digest.slice(0, 10)}\nfor ${request.claimTtlMs / 1000} s`;
}

/** Who writes. */
export function fenceText(request: RenewRequest | CheckpointRequest | undefined): string {
  return request === undefined ? '' : `claim ${request.claimId}\nattempt ${request.attempt}`;
}

/** What an end writes. */
export function finishText(request: FinishRequest | undefined): string {
  if (request === undefined) return '';
  const { response } = request;
  const body = response?.body ?? null;
  const answer = body === null ? '' : `\n${response?.status ?? ''} ${new TextDecoder().decode(body)}`;
  return `${fenceTextOf(request)}\nstate ${request.to}${answer}`;
}

function fenceTextOf({ claimId, attempt }: FinishRequest): string {
  return `claim ${claimId}\nattempt ${attempt}`;
}

/** What a claim came to. */
export function tellClaim(result: ClaimResult | undefined, before: SamekeyRecord | null, me: string): Told {
  if (result?.kind === 'claimed') {
    if (result.attempt === 1 && before !== null)
      return {
        caption: `The database has forgotten this key: its time is over. It writes a new row, and ${me} may run it.`,
        tone: 'danger',
        marks: ['claimed'],
        reply: 'claimed',
      };
    if (result.attempt === 1)
      return {
        caption: `The database knows no such key. It writes a row: the key is claimed, and only ${me} may run it.`,
        tone: 'claim',
        marks: ['claimed'],
        reply: 'claimed',
      };
    if (before?.state === 'retryable')
      return {
        caption: `The row says that nothing happened. So the database lets ${me} run the key again, as attempt ${result.attempt}.`,
        tone: 'claim',
        marks: ['claimed'],
        reply: `claimed, attempt ${result.attempt}`,
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
        caption: `The key is claimed by somebody else, and that claim still lasts. ${me} does not get it.`,
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

/** What a renewal came to. */
export function tellRenewal(result: RenewResult | undefined, me: string): Told {
  return result?.kind === 'renewed'
    ? { caption: `The database makes the claim of ${me} last longer.`, tone: 'claim', reply: 'renewed' }
    : {
        caption: `The key is not ${me}'s any more: the database renews nothing.`,
        tone: 'good',
        marks: ['late-write-refused'],
        reply: 'lost',
      };
}

/** What a checkpoint came to. */
export function tellCheckpoint(
  kind: 'applied' | 'refused' | 'busy' | undefined,
  request: CheckpointRequest | undefined,
  { before, after }: { readonly before: SamekeyRecord | null; readonly after: SamekeyRecord | null },
  me: string,
): Told {
  if (kind !== 'applied') return refused(request?.attempt, before, me);
  if (after?.steps !== request?.steps)
    return {
      caption: `The database keeps no note. The row says only that ${me} is at work.`,
      tone: 'danger',
      reply: 'ok',
    };
  const open = request?.intentOpen === true;
  return {
    caption: open
      ? `The row now says that ${me} is about to call the provider. Whoever comes later knows of the call.`
      : 'The row now holds what the provider said.',
    tone: 'claim',
    reply: 'noted',
  };
}

/** What an end came to. */
export function tellFinish(
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

/** What a late write comes to. */
function refused(attempt: number | undefined, before: SamekeyRecord | null, me: string): Told {
  return {
    caption: `${me} is late: it writes as attempt ${attempt ?? '?'}, and the row belongs to attempt ${before?.attempt ?? '?'}. The fence refuses the write; nothing changes.`,
    tone: 'good',
    marks: ['late-write-refused'],
    reply: 'refused',
  };
}

/** What an act of the reconciler came to. */
export function tellSettled(
  kind: string | undefined,
  to: string | undefined,
  before: SamekeyRecord | null,
): Told {
  if (kind !== 'applied')
    return {
      caption: `The row has changed meanwhile (${before?.state ?? 'gone'}): nothing is settled.`,
      reply: 'refused',
    };
  if (to === 'retryable')
    return {
      caption: 'The row now says that nothing happened: the next request may run.',
      tone: 'claim',
      marks: ['settled'],
      reply: 'settled',
    };
  return {
    caption: 'The row is finished: it holds the answer that the app never got.',
    tone: 'good',
    marks: ['settled', 'stored'],
    reply: 'settled',
  };
}
