/** One record, whole: what it is, why, what it has done, what belongs to it, and what an operator can do. */

import type { SamekeyRecord } from 'samekey';
import type { StepView, WholeRecord } from 'samekey/operator';
import { NEVER, shortDuration, timeAndAge } from './duration.ts';
import { oneLine, pairs } from './print.ts';
import { auditLines, forPrograms } from './show-audit.ts';
import { bytesJson, bytesShown, cut } from './show-bytes.ts';
import { callerShown, keyShown, recordJson } from './show-list.ts';
import { nextStep, reasonInWords, stateInWords } from './why.ts';

/** What may be seen. */
export interface Show {
  readonly keys: boolean;
  readonly bodies: boolean;
}

/** The lines for people. */
export function recordLines(whole: WholeRecord, now: number, show: Show): readonly string[] {
  const { record } = whole;
  const next = nextStep(record, nameOf(record, show), isOver(record, now));
  return [
    ...pairs(facts(whole, now, show)),
    ...section('Steps', stepLines(whole, show)),
    ...section(
      'Messages',
      whole.messages.map((message) => {
        const { id, topic, state, started, finished, proven, lastError, providerId, payload } = message;
        const error = lastError === null ? '' : `, last error: ${oneLine(lastError)}`;
        const provider = providerId === null ? '' : `, provider's id ${providerId}`;
        const body = show.bodies ? `\n    ${cut(payload)}` : '';
        return `${id}  ${topic}  ${state}, ${started} deliveries begun, ${finished} ended, ${proven} proven without effect${provider}${error}${body}`;
      }),
    ),
    ...section('Audit', whole.audit.length === 0 ? [] : auditLines(whole.audit, show.keys)),
    ...(next === null ? [] : ['', `What to do: ${next}`]),
  ];
}

/** The same for programs. */
export function wholeJson(whole: WholeRecord, now: number, show: Show): object {
  const { record, steps, messages } = whole;
  const { response, input } = record;
  return {
    ...recordJson(record, now, show.keys),
    meaning: stateInWords(record, isOver(record, now)),
    why: reasonInWords(record),
    isClaimOver: isOver(record, now),
    isHandedOver: whole.isHandedOver,
    openEffect: whole.openEffect,
    steps: steps?.map((step) => (show.bodies ? step : withoutResult(step))) ?? null,
    audit: whole.audit.map((row) => forPrograms(row, show.keys)),
    messages: messages.map(({ payload, headers, owner: _owner, ...message }) =>
      show.bodies ? { ...message, payload, headers } : message,
    ),
    ...(show.bodies && response !== null
      ? { answer: { ...response, body: response.body === null ? null : bytesJson(response.body) } }
      : {}),
    ...(show.bodies && input !== null ? { input: bytesJson(input) } : {}),
  };
}

function facts(whole: WholeRecord, now: number, show: Show): [string, string][] {
  const { record } = whole;
  const { attempt, claimTtlMs, lockedUntil, proof, reconcileAfter, finishedAt, renewals } = record;
  const at = (time: number): string => timeAndAge(time, now);
  const lines: [string, string | null][] = [
    ['Key', keyShown(record, show.keys)],
    ['Caller', callerShown(record, show.keys)],
    ['Operation', record.operation],
    ['State', `${record.state}: ${stateInWords(record, isOver(record, now))}`],
    ['Why', reasonInWords(record)],
    [
      'Proof',
      proof === null ? null : `the last attempt is proven without effect, or decided by hand: ${proof}`,
    ],
    [
      'Attempt',
      `${attempt}${renewals > 0 ? `, its claim renewed ${renewals} times` : ''}; a claim is ${shortDuration(claimTtlMs)}`,
    ],
    ['First used', at(record.createdAt)],
    [claimWord(record), record.state === 'completed' || record.state === 'failed' ? null : at(lockedUntil)],
    ['Finished', finishedAt === null ? null : at(finishedAt)],
    ['Looked into', reconcileAfter === null ? null : lookedInto(record, reconcileAfter, at)],
    [
      'Intent',
      record.intentAt === null
        ? null
        : `the effect "${whole.openEffect ?? '?'}" is open since ${at(record.intentAt)}`,
    ],
    ['Expires', isOpen(record) ? 'not while its outcome is open' : at(record.expiresAt)],
    ['Sealed', sealedShown(record)],
    ['Answer', answerShown(record, show)],
    [
      'Input',
      record.input === null ? null : show.bodies ? bytesShown(record.input) : `${record.input.length} bytes`,
    ],
  ];
  return lines.filter((line): line is [string, string] => line[1] !== null);
}

/** Reconcilers put off what they have given up to the end of time. */
function lookedInto({ inquiries }: SamekeyRecord, after: number, at: (time: number) => string): string {
  const asked = `${inquiries} ${inquiries === 1 ? 'time' : 'times'}`;
  return after >= NEVER ? `${asked}, and given up: it waits for you` : `${asked}; next ${at(after)}`;
}

function claimWord({ state }: SamekeyRecord): string {
  return state === 'pending' ? 'Deadline' : state === 'retryable' ? 'May run from' : 'Claim ends';
}

/** What was sealed by a key that is not here. */
function sealedShown({ unreadable }: SamekeyRecord): string | null {
  if (unreadable === undefined) return null;
  const { part, keyId, cause } = unreadable;
  return `its ${part} cannot be opened (${cause}, key ${keyId}); what is shown may not be all`;
}

function answerShown({ response }: SamekeyRecord, show: Show): string | null {
  if (response === null) return null;
  const { status, headers, body } = response;
  if (body === null) return `${status}, ${headers.length} header lines; its body was not kept`;
  if (!show.bodies) return `${status}, ${headers.length} header lines, ${body.length} bytes (--show-bodies)`;
  const lines = headers.map(([name, value]) => `\n    ${name}: ${value}`);
  return `${status}${lines.join('')}\n    ${bytesShown(body)}`;
}

function stepLines({ record, steps }: WholeRecord, show: Show): readonly string[] {
  if (steps === null) return ['they cannot be read here: sealed (use --app), or written by newer code'];
  if (record.steps === null) return [];
  return steps.map((step, i) => {
    const result = show.bodies ? `: ${cut(JSON.stringify(step.result))}` : '';
    if (step.kind === 'phase') return `${i + 1}. phase "${step.name}" committed${result}`;
    return step.isDone
      ? `${i + 1}. effect "${step.name}" done${result}`
      : `${i + 1}. effect "${step.name}" OPEN: the call was intended, nobody has said how it ended${callShown(step)}`;
  });
}

/** What is known of an open call. */
function callShown({ call }: Extract<StepView, { kind: 'effect' }>): string {
  if (call === null) return '';
  const provider = call.providerId === undefined ? '' : `, the provider calls it ${call.providerId}`;
  return ` (attempt ${call.attempt}, rule ${call.rule}, at most ${shortDuration(call.timeMaxMs)}${provider})`;
}

function withoutResult(step: StepView): object {
  const { result: _result, ...rest } = step;
  return rest;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)];
}

/** As the commands take it. */
function nameOf(record: SamekeyRecord, { keys }: Show): string {
  const shown = keyShown(record, keys);
  return keys ? `'${shown.replaceAll("'", `'\\''`)}'` : `--hash ${shown.slice(1)}`;
}

function isOpen({ state, intentAt }: SamekeyRecord): boolean {
  return state === 'pending' || state === 'in_progress' || state === 'unknown' || intentAt !== null;
}

function isOver({ state, lockedUntil }: SamekeyRecord, now: number): boolean {
  return state === 'in_progress' && lockedUntil <= now;
}
