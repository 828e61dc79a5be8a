/**
 * `samekey requeue`: lists messages that were given up, or delivers them again.
 *
 * Exit codes: 0 listed, or all that were named are delivered again · 1 it failed · 2 some that were named are no dead letters.
 */

import { Command } from 'commander';
import type { StoredMessage } from 'samekey/operator';
import { CliError, EXIT } from '../cli-error.ts';
import { type ActFlags, actorOf, confirm } from '../operate/act.ts';
import { shortDuration } from '../operate/duration.ts';
import { say, table } from '../operate/print.ts';
import { cut } from '../operate/show-bytes.ts';
import { onTarget, type Target, type TargetFlags, withTarget } from '../operate/target.ts';

interface RequeueFlags extends TargetFlags, Omit<ActFlags, 'reason'> {
  readonly reason?: string;
  readonly topic?: string;
  readonly all?: true;
  readonly showBodies?: true;
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
        `Not delivered: ${missed.join(', ')}. They are no dead letters (any more), or their request was decided otherwise.`,
      );
  });
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
  if (json === true)
    return say({ ...target.about, now, messages: messages.map((each) => shown(each, showBodies === true)) });
  say(`Database: ${target.shown}`);
  if (messages.length === 0) return say('No dead letters.');
  const rows = messages.map(({ id, topic: of, dueAt, started, proven, lastError, payload }) => [
    id,
    of,
    `${shortDuration(now - dueAt)} ago`,
    String(started),
    String(proven),
    `${lastError ?? ''}${showBodies === true ? `  ${cut(payload)}` : ''}`,
  ]);
  for (const line of table(
    ['ID', 'TOPIC', 'DIED', 'DELIVERIES', 'PROVEN WITHOUT EFFECT', 'LAST ERROR'],
    rows,
  ))
    say(line);
}

function shown({ payload, headers, owner: _owner, ...message }: StoredMessage, showBodies: boolean): object {
  return showBodies ? { ...message, payload, headers } : message;
}
