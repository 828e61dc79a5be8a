/**
 * Records as the page gets them. Nothing of what a record holds leaves here unmasked; `reveal` is the one way to it.
 */

import { hashKey, type SamekeyRecord } from 'samekey';
import { callerOf, type LetterRequest, type StoredMessage, type WholeRecord } from 'samekey/operator';
import { isErased, isForgotten } from 'samekey/internals/core/record';
import { NEVER } from 'samekey/internals/store/machine/index';
import type { Letter, Row, Whole } from './api.ts';
import { maskBytes, maskText, maskValue } from './mask.ts';
import { momentsOf } from './moments.ts';
import { reasonInWords, stateInWords } from './record-words.ts';

/** A line of a list. */
export function rowOf(record: SamekeyRecord): Row {
  const { scope, key, claimId, attempt, operation, state, reason, createdAt, lockedUntil, finishedAt } =
    record;
  return {
    scope,
    key,
    claimId,
    attempt,
    caller: callerOf(scope),
    keyHash: hashKey(record),
    operation,
    state,
    reason,
    createdAt,
    lockedUntil,
    finishedAt,
    status: record.response?.status ?? null,
  };
}

/** A record whole, masked. */
export function wholeOf(whole: WholeRecord, now: number): Whole {
  const { record, steps, messages, openEffect } = whole;
  const { response, input } = record;
  const isOver = isClaimOver(record, now);
  return {
    now,
    row: rowOf(record),
    meaning: stateInWords(record, isOver),
    why: reasonInWords(record),
    next: nextStep(record, isOver),
    facts: factsOf(whole),
    moments: momentsOf(whole, now),
    openEffect,
    answer:
      response === null
        ? null
        : {
            ...(response.body === null ? { bytes: 0, outline: null } : maskBytes(response.body)),
            status: response.status,
            headers: response.headers.map(([name]) => name),
          },
    isBodyKept: response !== null && response.body !== null,
    input: input === null ? null : maskBytes(input),
    results: (steps ?? []).map(({ name, result }) => ({ name, outline: maskValue(result) })),
    messages: messages.map((message) => letterOf(message, 'none')),
    acts: actsOf(record),
  };
}

/** A message, masked. */
export function letterOf(message: StoredMessage, request: LetterRequest): Letter {
  const { id, topic, state, place, createdAt, dueAt, started, finished, proven, lastError, owner } = message;
  return {
    id,
    topic,
    state,
    place,
    createdAt,
    dueAt,
    started,
    finished,
    proven,
    lastError,
    payload: maskText(message.payload),
    owner: owner === null ? null : { scope: owner.scope, key: owner.key },
    request,
    requestWords: REQUESTS[request],
    mayRequeue: state === 'dead' && (request === 'none' || request === 'open' || request === 'reopened'),
  };
}

/** What became of the request that a dead letter is the work of. */
export const REQUESTS: Readonly<Record<LetterRequest, string>> = {
  none: 'a message of its own, still owed',
  open: 'its request waits for it',
  answered: 'its request was answered: reopen that first',
  reopened: 'its request was reopened',
  decided: 'its request was decided otherwise: drop it',
  gone: 'its request is gone: drop it',
};

/** Whether an attempt began and has not been heard of. */
export function isClaimOver({ state, lockedUntil }: SamekeyRecord, now: number): boolean {
  return state === 'in_progress' && lockedUntil <= now;
}

function actsOf(record: SamekeyRecord): Whole['acts'] {
  if (isErased(record) || isForgotten(record)) return [];
  if (record.state === 'unknown') return ['settle'];
  if (record.state === 'failed') return ['reopen', 'forget'];
  return record.state === 'completed' || record.state === 'retryable' ? ['forget'] : [];
}

function nextStep({ state, reason }: SamekeyRecord, isOver: boolean): string | null {
  if (state === 'unknown')
    return 'Find out what happened: your own tables, the provider’s dashboard or its webhook log. Then say it here.';
  if (isOver)
    return 'Its claim is over and nobody has ended it: no janitor is running. Start one (npx samekey janitor), then look again.';
  if (state === 'failed' && reason === 'outcome-never-known')
    return 'Find out what happened. If nothing did, it may be reopened.';
  return null;
}

function factsOf({ record, isHandedOver }: WholeRecord): Whole['facts'] {
  const { attempt, attemptMax, renewals, inquiries, reconcileAfter, unreadable, sealKeyId } = record;
  const facts: (readonly [string, string | null])[] = [
    ['Attempt', `${attempt} of at most ${attemptMax}`],
    ['Claim renewed', renewals === 0 ? null : String(renewals)],
    ['A claim lasts', `${record.claimTtlMs / 1_000} s`],
    ['Work', isHandedOver ? 'handed over: with the worker of its message' : null],
    ['Recovery point', record.recoveryPoint],
    ['Proven without effect', record.proof === null || record.proof === 'settled' ? null : record.proof],
    ['Settled', record.proof === 'settled' ? 'by hand, or by a reconciler' : null],
    [
      'Reconciler asked',
      reconcileAfter === null && inquiries === 0 ? null : `${inquiries} times${givenUp(reconcileAfter)}`,
    ],
    ['Sealed with', sealKeyId],
    [
      'Unreadable',
      unreadable === undefined
        ? null
        : `its ${unreadable.part} (${unreadable.cause}, key ${unreadable.keyId})`,
    ],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== null);
}

function givenUp(after: number | null): string {
  return after !== null && after >= NEVER ? ', and gave up: it waits for you' : '';
}
