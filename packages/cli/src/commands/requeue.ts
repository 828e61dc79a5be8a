/**
 * `samekey requeue` lists messages that were given up, or delivers them again; `samekey drop` deletes them.
 *
 * Exit codes: 0 listed, or all that were named are delivered again, or dropped · 1 it failed · 2 some that were named
 * are left as they are.
 */

import { Command } from 'commander';
import type { LetterRequest, StoredMessage } from 'samekey/operator';
import { CliError, EXIT } from '../cli-error.ts';
import { type ActFlags, actorOf, confirm, withAct } from '../operate/act.ts';
import { shortDuration } from '../operate/duration.ts';
import { counted, say, table } from '../operate/print.ts';
import { cut } from '../operate/show-bytes.ts';
import { type MessagesOf, onTarget, type Target, type TargetFlags, withTarget } from '../operate/target.ts';

interface RequeueFlags extends TargetFlags, Omit<ActFlags, 'reason'> {
  readonly reason?: string;
  readonly topic?: string;
  readonly all?: true;
  readonly showBodies?: true;
}

interface DropFlags extends ActFlags {
  readonly decided?: true;
}

/** In one statement, and on one screen. */
const BATCH = 500;
/** One command at most: run it again for the rest. */
const ALL_MAX = 100_000;

/** The command. */
export function requeueCommand(): Command {
  const command = new Command('requeue')
    .description('List dead letters; with ids or --all: deliver them again, under the same downstream key')
    .argument('[ids...]', 'ids of messages')
    .option('--topic <name>', 'only of this topic')
    .option('--all', 'deliver all dead letters again, of --topic if it is given')
    .option('--show-bodies', 'show payloads')
    .option('--reason <text>', 'why, for the audit; needed to deliver')
    .option('--actor <name>', 'who acts, for the audit (default: the user of this machine)')
    .option('--yes', 'do not ask; needed where nobody can answer');
  return withTarget(command).action(run);
}

async function run(ids: readonly string[], flags: RequeueFlags): Promise<void> {
  const { all, reason, topic } = flags;
  if (ids.length === 0 && all !== true) {
    if (reason !== undefined) throw new CliError('Name the messages to deliver again, or --all.');
    return onTarget(flags, null, (target) => list(target, flags));
  }
  if (ids.length > 0 && (all === true || topic !== undefined))
    throw new CliError('--all and --topic go without ids.');
  if (reason === undefined) throw new CliError('Delivering again needs a --reason, for the audit.');
  const act = { ...flags, reason };
  await onTarget(flags, actorOf(act), async (target) => {
    const what =
      all === true
        ? `all dead letters${topic === undefined ? '' : ` of "${topic}"`}`
        : `${ids.length} messages`;
    await confirm(act, `Deliver ${what} again in ${target.shown}?`);
    const requeued =
      all === true ? await requeueAll(target, reason, topic) : await requeueThese(target, reason, ids);
    const missed = ids.filter((id) => !requeued.includes(id));
    if (missed.length > 0) process.exitCode = EXIT.refused;
    if (flags.json === true) return say({ ...target.about, requeued, missed });
    say(`${requeued.length} messages are delivered again.`);
    if (missed.length > 0)
      say(
        `Not delivered: ${missed.join(', ')}. They are no dead letters (any more), or the work of a request that was answered (reopen it first), was decided or is gone (samekey drop clears those); samekey requeue lists which.`,
      );
  });
}

/** The command that clears what nobody waits for any more. */
export function dropCommand(): Command {
  const command = new Command('drop')
    .description('Delete dead letters: of requests that were decided or are gone, or those that are named')
    .argument('[ids...]', 'ids of messages')
    .option(
      '--decided',
      'all whose request was decided otherwise or is gone: they are never delivered again',
    );
  return withTarget(withAct(command)).action(drop);
}

async function drop(ids: readonly string[], flags: DropFlags): Promise<void> {
  const { decided, reason } = flags;
  if (ids.length > 0 === (decided === true))
    throw new CliError('Name the messages to drop, or say --decided.');
  await onTarget(flags, actorOf(flags), async (target) => {
    const what =
      decided === true
        ? 'all dead letters whose request was decided or is gone'
        : `${ids.length} dead letters`;
    const owed =
      decided === true
        ? ''
        : ' A message of its own is STILL OWED to whoever it was for, and is never sent then.';
    await confirm(flags, `Delete ${what} from ${target.shown}?${owed}`);
    const named = decided === true ? await decidedOnes(target) : ids;
    const dropped: string[] = [];
    for (let i = 0; i < named.length; i += BATCH)
      dropped.push(...(await target.operator.drop(named.slice(i, i + BATCH), { reason })));
    const missed = ids.filter((id) => !dropped.includes(id));
    if (missed.length > 0) process.exitCode = EXIT.refused;
    if (flags.json === true) return say({ ...target.about, dropped, missed });
    say(`${counted(dropped.length, 'message is', 'messages are')} deleted.`);
    if (missed.length > 0) say(`Not deleted: ${missed.join(', ')}. They are no dead letters (any more).`);
  });
}

/** Those that no requeue delivers. */
async function decidedOnes({ operator }: Target): Promise<readonly string[]> {
  const ids: string[] = [];
  let after = 0;
  while (ids.length < ALL_MAX) {
    const page = await operator.deadLetters({ after, limit: BATCH });
    if (page.length === 0) break;
    const requests = await operator.requestsOf(page);
    ids.push(
      ...page.flatMap(({ id }, i) => (requests[i] === 'decided' || requests[i] === 'gone' ? [id] : [])),
    );
    after = page.at(-1)?.place ?? after;
  }
  return ids;
}

async function requeueThese(
  { operator }: Target,
  reason: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const requeued: string[] = [];
  for (let i = 0; i < ids.length; i += BATCH)
    requeued.push(...(await operator.requeue(ids.slice(i, i + BATCH), { reason })));
  return requeued;
}

/** Those that are dead now: what dies again while this runs has a greater place, or is left for the next time. */
async function requeueAll(
  { operator }: Target,
  reason: string,
  topic: string | undefined,
): Promise<readonly string[]> {
  const requeued: string[] = [];
  let after = 0;
  while (requeued.length < ALL_MAX) {
    const page = await operator.deadLetters({
      after,
      limit: BATCH,
      ...(topic === undefined ? {} : { topic }),
    });
    if (page.length === 0) break;
    requeued.push(
      ...(await operator.requeue(
        page.map(({ id }) => id),
        { reason },
      )),
    );
    after = page.at(-1)?.place ?? after;
  }
  return requeued;
}

async function list(target: Target, { json, topic, showBodies }: RequeueFlags): Promise<void> {
  const messages = await target.operator.deadLetters({
    limit: BATCH,
    ...(topic === undefined ? {} : { topic }),
  });
  const now = await target.now();
  const more = messages.length < BATCH ? 0 : (await countDead(target, topic)) - messages.length;
  const requests = await target.operator.requestsOf(messages);
  if (json === true) {
    const all = messages.map((each, i) => ({ ...shown(each, showBodies === true), request: requests[i] }));
    return say({ ...target.about, now, more, messages: all });
  }
  say(`Database: ${target.shown}`);
  if (messages.length === 0) return say('No dead letters.');
  const rows = messages.map(({ id, topic: of, dueAt, started, proven, lastError, payload }, i) => [
    id,
    of,
    REQUESTS[requests[i] ?? 'none'],
    `${shortDuration(now - dueAt)} ago`,
    String(started),
    String(proven),
    `${lastError ?? ''}${showBodies === true ? `  ${cut(payload)}` : ''}`,
  ]);
  for (const line of table(
    ['ID', 'TOPIC', 'REQUEST', 'DIED', 'DELIVERIES', 'PROVEN WITHOUT EFFECT', 'LAST ERROR'],
    rows,
  ))
    say(line);
  if (more > 0) say(`… and ${more} more (--topic).`);
}

/** What became of the request that a message is the work of. */
const REQUESTS: Readonly<Record<LetterRequest, string>> = {
  none: '-',
  open: 'waits',
  answered: 'answered: reopen it first',
  reopened: 'reopened',
  decided: 'decided: drop',
  gone: 'gone: drop',
};

async function countDead({ store }: Target, topic: string | undefined): Promise<number> {
  const counts = (await (store as MessagesOf).messages?.count()) ?? [];
  return counts
    .filter((each) => each.state === 'dead' && (topic === undefined || each.topic === topic))
    .reduce((sum, { count }) => sum + count, 0);
}

function shown({ payload, headers, owner: _owner, ...message }: StoredMessage, showBodies: boolean): object {
  return showBodies ? { ...message, payload, headers } : message;
}
