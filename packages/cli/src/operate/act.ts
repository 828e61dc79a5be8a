/**
 * What all commands have in common that change something: who and why, a question before it, and what became of it.
 *
 * Invariants: no question is asked where nobody can answer it; then `--yes` has to say so · the act is done to the
 * record that was shown, or not at all.
 */

import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { SamekeyRecord } from 'samekey';
import type { Act, ActResult } from 'samekey/operator';
import { ContradictionError, EXIT, RefusedError } from '../cli-error.ts';
import { shortDuration } from './duration.ts';
import { findRecord, type RecordFlags } from './find-record.ts';
import { say } from './print.ts';
import { keyShown, recordJson } from './show-list.ts';
import { onTarget, osUser, type Target, type TargetFlags } from './target.ts';
import { reasonInWords, stateInWords } from './why.ts';

/** Who acts, and why. */
export interface ActFlags extends TargetFlags {
  readonly reason: string;
  readonly actor?: string;
  readonly yes?: true;
}

/** Adds the options. */
export function withAct(command: Command): Command {
  return command
    .requiredOption('--reason <text>', 'why, for the audit; it outlives the record, so no personal data')
    .option('--actor <name>', 'who acts, for the audit (default: the user of this machine)')
    .option('--yes', 'do not ask; needed where nobody can answer');
}

/** Who acts. Throws `RefusedError` where nobody is named. */
export function actorOf({ actor }: ActFlags): string {
  const name = actor ?? osUser();
  if (name === null || name.trim() === '')
    throw new RefusedError('This machine knows no name for who acts: pass --actor.');
  return name;
}

/** What an act does, in words. */
interface ActWords {
  /** "Settle as completed". */
  readonly question: (record: SamekeyRecord) => string;
  /** Past: "Settled as completed". */
  readonly done: (record: SamekeyRecord) => string;
  /** What to do where the state does not fit. */
  readonly misfit: string;
  /** What to do where "no effect" is not proven, if it is another thing than for unknown outcomes. */
  readonly notProven?: string;
}

/** What was said, of the record that was shown: what has become of it since is not what the person agreed to. */
type Given = Pick<Act, 'reason'> & { readonly seen: SamekeyRecord };

/** Finds one record, asks, acts, and tells what became of it. */
export async function actOnRecord(
  key: string | undefined,
  flags: ActFlags & RecordFlags,
  words: ActWords,
  act: (target: Target, record: SamekeyRecord, given: Given) => Promise<ActResult>,
): Promise<void> {
  await onTarget(flags, actorOf(flags), async (target) => {
    const record = await findRecord(target.operator, key, flags);
    const now = await target.now();
    const age = shortDuration(now - record.createdAt);
    const why = reasonInWords(record);
    await confirm(
      flags,
      `${keyShown(record, false)} of ${record.operation}, ${age} old: ${record.state}${why === null ? '' : ` (${why})`}.\n${words.question(record)} in ${target.shown}?`,
    );
    const result = await act(target, record, { reason: flags.reason, seen: record });
    tell(target, flags, result, record, words, now);
  });
}

/** Where a question is asked. */
interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream;
}

/** Asks a yes-or-no question. Throws `RefusedError` where the answer is no, or nobody is there to give one. */
export async function confirm(
  { yes }: Pick<ActFlags, 'yes'>,
  question: string,
  { stdin, stderr }: Terminal = process,
): Promise<void> {
  if (yes === true) return;
  if (stdin.isTTY !== true)
    throw new RefusedError('Nobody is there to be asked: pass --yes to do it without a question.');
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>((resolve) => {
    // F156: Ctrl-D and the end of the input close it, and so does Ctrl-C: no answer is no.
    terminal.once('SIGINT', () => terminal.close());
    terminal.once('close', () => {
      stderr.write('\n');
      resolve('');
    });
    terminal.question(`${question} [y/N] `, resolve);
  });
  terminal.removeAllListeners('close');
  terminal.close();
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new RefusedError('Nothing was done.');
}

function tell(
  target: Target,
  { json }: ActFlags,
  result: ActResult,
  asked: SamekeyRecord,
  words: ActWords,
  now: number,
): void {
  if (json === true) {
    if (result.kind === 'refused' || result.kind === 'absent') process.exitCode = EXIT.refused;
    if (result.kind === 'contradiction') process.exitCode = EXIT.contradiction;
    const record =
      'record' in result && result.record !== null ? recordJson(result.record, now, false) : null;
    return say({ ...target.about, ...result, record });
  }
  if (result.kind === 'applied' || result.kind === 'already') {
    const before = result.kind === 'already' ? 'It had been done before: ' : '';
    return say(before + words.done(asked));
  }
  if (result.kind === 'contradiction') throw new ContradictionError(contradiction(result.record));
  throw new RefusedError(refusal(result, words));
}

/** Somebody else has settled it, and otherwise. */
function contradiction(record: SamekeyRecord): string {
  const { response, state, reason } = record;
  const answer = response === null ? '' : `, with the status ${response.status}`;
  const why = reason === null ? '' : `: "${reason}"`;
  return (
    `Nothing was done: somebody has settled it otherwise, as ${state}${answer}${why}. That stands, and the audit has a row that says that you ` +
    'say otherwise. Find out who is right (samekey audit with its key names who settled it).'
  );
}

function refusal(
  result: Extract<ActResult, { kind: 'refused' | 'absent' }>,
  { misfit, notProven }: ActWords,
): string {
  if (result.kind === 'absent' || result.record === null)
    return 'Nothing was done: the record is gone. Its retention is over, or somebody dropped it.';
  const { record, because } = result;
  const found = `it is ${record.state} (${stateInWords(record)})`;
  switch (because) {
    case 'state':
      return `Nothing was done: ${found}. ${misfit}`;
    case 'changed':
      return `Nothing was done: the record has moved on, now ${found}, attempt ${record.attempt}. Look at it again.`;
    case 'not-proven':
      if (notProven !== undefined) return `Nothing was done: ${notProven}`;
      return (
        'Nothing was done: "no effect" is not proven. Whoever ran the attempt fell silent, and a process that only stood still may ' +
        'wake and make its call. Find out that it is gone (its process or machine has ended, and the longest call to a provider has ' +
        'had its time), then say --owner-gone; or say --downstream-key if every call carries a key under which the provider acts once.'
      );
    case 'too-early':
      return (
        'Nothing was done: a call to a provider may still be under way, so "no effect" does not count yet. Wait, or say with --call-time ' +
        'how long the longest call takes after its claim has ended.'
      );
    case 'no-open-effect':
      return 'Nothing was done: no effect of the record is open that --effect-result could be of.';
    default:
      return because satisfies never;
  }
}
