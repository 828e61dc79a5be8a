/**
 * `samekey inspect`: which records there are, or one of them whole. Reads only.
 *
 * Exit codes: 0 shown · 1 it failed · 2 the record that was named is not there, or the key stands for several.
 */

import { Command } from 'commander';
import type { State } from 'samekey';
import { CliError } from '../cli-error.ts';
import { someOf, wholeNumber } from '../operate/arguments.ts';
import { duration } from '../operate/duration.ts';
import { filterOf, findRecord, type RecordFlags, withRecord } from '../operate/find-record.ts';
import { say } from '../operate/print.ts';
import { listLines, recordJson } from '../operate/show-list.ts';
import { recordLines, type Show, wholeJson } from '../operate/show-record.ts';
import { onTarget, type Target, type TargetFlags, withTarget } from '../operate/target.ts';

interface InspectFlags extends TargetFlags, RecordFlags {
  readonly state?: readonly State[];
  readonly olderThan?: number;
  readonly limit?: number;
  readonly showKeys?: true;
  readonly showBodies?: true;
}

const STATES: readonly State[] = ['pending', 'in_progress', 'completed', 'failed', 'retryable', 'unknown'];
const LIMIT = 50;
const LIMIT_MAX = 1_000;

/** The command. */
export function inspectCommand(): Command {
  const command = new Command('inspect')
    .description(
      'Show which records there are, or one of them whole: why it is so, its steps, messages and audit',
    )
    .argument('[key]', 'the key of one record')
    .option('--state <states>', `only these, with commas: ${STATES.join(', ')}`, someOf(STATES))
    .option('--older-than <duration>', 'only records first used longer ago: 90s, 15m, 24h, 30d', duration)
    .option(
      '--limit <count>',
      `at most so many, newest first (default: ${LIMIT}, at most ${LIMIT_MAX})`,
      wholeNumber(1, LIMIT_MAX),
    )
    .option('--show-keys', 'show keys and callers as they are; else as hashes')
    .option('--show-bodies', 'show answers, inputs, results of steps and payloads; else their sizes');
  return withTarget(withRecord(command)).action(run);
}

async function run(key: string | undefined, flags: InspectFlags): Promise<void> {
  const one = key !== undefined || flags.hash !== undefined;
  if (one && (flags.state !== undefined || flags.olderThan !== undefined || flags.limit !== undefined))
    throw new CliError('--state, --older-than and --limit go with a list; a key shows one record.');
  await onTarget(flags, null, (target) => (one ? showOne(target, key, flags) : showMany(target, flags)));
}

async function showOne(target: Target, key: string | undefined, flags: InspectFlags): Promise<void> {
  const { operator, shown, about } = target;
  const show: Show = { keys: flags.showKeys === true, bodies: flags.showBodies === true };
  const record = await findRecord(operator, key, flags);
  const whole = await operator.find(record);
  if (whole === null) throw new CliError('The record was deleted at this moment: its retention is over.');
  const now = await target.now();
  if (flags.json === true) return say({ ...about, now, record: wholeJson(whole, now, show) });
  say(`Database: ${shown}`);
  for (const line of recordLines(whole, now, show)) say(line);
}

async function showMany(target: Target, flags: InspectFlags): Promise<void> {
  const { operator, shown, about } = target;
  const now = await target.now();
  const limitTo = flags.limit ?? LIMIT;
  const records = await operator.list({
    ...filterOf(flags),
    ...(flags.state === undefined ? {} : { states: flags.state }),
    ...(flags.olderThan === undefined ? {} : { createdBefore: now - flags.olderThan }),
    limit: limitTo,
  });
  const showKeys = flags.showKeys === true;
  const isFull = records.length >= limitTo;
  if (flags.json === true) {
    return say({
      ...about,
      now,
      isFull,
      records: records.map((record) => recordJson(record, now, showKeys)),
    });
  }
  say(`Database: ${shown}`);
  if (records.length === 0) return say('No such records.');
  for (const line of listLines(records, now, showKeys)) say(line);
  if (isFull) say(`The newest ${limitTo}; there may be more (--limit, --older-than).`);
}
