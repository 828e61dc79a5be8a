/** What a record's state and reason mean, in words: for the page, and for the command line. */

import type { SamekeyRecord } from 'samekey';

/** What each state means for the next request with the key. */
const STATES: Readonly<Partial<Record<SamekeyRecord['state'], string>>> = {
  pending: 'accepted; its work is with a worker. Retries are answered 202',
  in_progress: 'an attempt is running. Retries are answered 409 with Retry-After',
  completed: 'final. Retries get the stored answer',
  failed: 'final. Retries get the stored error',
  retryable: 'the last attempt had no effect. The next matching request runs',
  unknown:
    'the last attempt may have taken effect, and nobody knows. Retries are answered 409 and nothing runs',
};

/** What the reasons that Samekey writes mean. Others were written by people, and say it themselves. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['claim-ended', 'the process that ran it died or froze: its claim ended without a word'],
  [
    'attempt-time-up',
    'the handler ran longer than attemptTimeMaxMs and was told to stop; it may still be running',
  ],
  ['no-answer', 'the handler ended without an answer, which proves nothing'],
  [
    'answer-not-storable',
    'it is done; its handler answered with what cannot be stored, and that body is lost',
  ],
  ['handler-threw', 'the handler threw, and the policy does not say that nothing happened'],
  ['said-unknown', 'the handler said that it does not know whether it took effect'],
  [
    'after-its-end',
    'after its end was recorded, its handler said that it does not know; it may still be running',
  ],
  [
    'perhaps-answered-for',
    'it was answered as a time-out answers; if one did, its handler may still be running',
  ],
  ['message-unknown', 'the handler of its message said that it does not know whether it took effect'],
  ['never-started', 'it was accepted, and no worker began it by its deadline'],
  ['attempts-exhausted', 'it has used up its attempts (attemptMax)'],
  ['message-dead', 'its message is a dead letter: look at the messages below'],
  ['not-executed', 'the handler declared that nothing happened'],
  ['effect-open', 'an effect was begun and its result is not known'],
  ['effect-unknown', 'nobody could say whether an effect took place, and its rule is to stop there'],
  ['effect-retention-passed', 'the provider may have forgotten the key of an effect that is to be repeated'],
  ['claim-too-short', 'the claim had not enough left for an effect; the next attempt goes on'],
  ['not-started', 'the handler did not begin'],
  ['closing', 'its process was stopping; the handler did not begin'],
  ['claim-over', 'its process stood still until the claim was over; the handler did not begin'],
  ['unreadable', 'a sealed part of it could not be opened; the handler did not begin'],
  ['former-name-expired', 'it had expired under a former name of its operation; the handler did not begin'],
  ['effect-input-changed', 'a later attempt would have sent something else than the intent that is stored'],
  ['result-not-storable', 'an effect took place, and its result could not be stored'],
  ['checkpoint-unclear', 'the reply to a checkpoint was lost, and repeating it did not tell in time'],
  ['effect-late', 'a call of an effect ended when its record had gone on without it'],
  ['phases-changed', 'code met it that does not know its steps; code that does goes on with it'],
  [
    'effect-rule-changed',
    'code met it whose effect has another rule or provider; code with the stored one goes on with it',
  ],
  ['claim-abandoned', 'the reply to its claim was lost; it was released without having run'],
  ['outcome-never-known', 'nobody could say for so long that it was given up'],
  ['forgotten', 'an operator dropped it; its key can be used anew in a few seconds'],
  ['erased', 'what it held was erased on request; its key never runs again'],
]);

/** Those that a remark, or another reason, may follow after a colon. */
const WITH_REMARK: ReadonlySet<string> = new Set([
  'said-unknown',
  'message-unknown',
  'attempt-time-up',
  'after-its-end',
  'perhaps-answered-for',
]);

/** What the state means; `claimOver`: it is in progress, and its claim has ended. */
export function stateInWords({ state }: SamekeyRecord, claimOver = false): string {
  if (claimOver) return 'an attempt began, and has not been heard of. Retries are answered 409';
  return STATES[state] ?? 'a state that newer code has written';
}

/** Why it is so; null when the record says nothing of it. */
export function reasonInWords({ reason, attempt }: SamekeyRecord): string | null {
  if (reason === null) return null;
  const status = /^status-(\d{3})$/.exec(reason)?.[1];
  const [word = '', ...remark] = reason.split(': ');
  if (remark.length > 0 && WITH_REMARK.has(word))
    return `${word}: ${REASONS.get(word) ?? ''} (${oneLine(remark.join(': '))})`;
  const words =
    status === undefined ? REASONS.get(reason) : `the handler of attempt ${attempt} answered ${status}`;
  return words === undefined ? oneLine(reason) : `${reason}: ${words}`;
}

/** What people wrote may have line breaks, and must not look like another row. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
