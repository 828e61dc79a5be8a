/**
 * `samekey erase`: empties the records of a caller, for a privacy request. Their keys stay and never run again.
 *
 * Exit codes: 0 all is erased · 1 it failed · 2 not confirmed, or some is left: run it again later.
 */

import { Command } from 'commander';
import { callerScope } from 'samekey';
import { CliError, EXIT } from '../cli-error.ts';
import { type ActFlags, actorOf, confirm, withAct } from '../operate/act.ts';
import { say } from '../operate/print.ts';
import { onTarget, type Target, withTarget } from '../operate/target.ts';

interface EraseFlags extends ActFlags {
  readonly scope?: string;
}

/** Records of one call, and calls of one command: run it again for the rest. */
const BATCH = 1_000;
const CALLS_MAX = 10_000;

/** The command. */
export function eraseCommand(): Command {
  const command = new Command('erase')
    .description(
      'Empty the records of a caller (answers, inputs, steps); their keys stay and never run again',
    )
    .argument('[parts...]', 'the parts of its scope, as the application gives them: acme alice')
    .option(
      '--scope <caller>',
      'instead of the parts: the caller as inspect --show-keys shows it, acme/alice',
    );
  return withTarget(withAct(command)).action(run);
}

async function run(parts: readonly string[], flags: EraseFlags): Promise<void> {
  if ((parts.length === 0) === (flags.scope === undefined))
    throw new CliError('Name one caller: by the parts of its scope, or by --scope.');
  if (flags.scope?.includes('|') === true)
    throw new CliError('Erased is a whole caller, whatever the operation: leave | and the operation out.');
  const caller = flags.scope ?? callerScope(parts);
  await onTarget(flags, actorOf(flags), async (target) => {
    const some = await target.operator.list({ caller, limit: 1 });
    await confirm(
      flags,
      `Erase what the records of this caller hold (${some.length === 0 ? 'there are none' : 'there are some'}; it cannot be undone) in ${target.shown}?`,
    );
    const { erased, left } = await eraseAll(target, caller, flags.reason);
    if (left > 0) process.exitCode = EXIT.refused;
    if (flags.json === true) return say({ ...target.about, erased, left });
    say(`${erased} records are erased. Other processes may answer from memory for five seconds more.`);
    if (left > 0)
      say(
        `${left} are left: somebody works on them, or nobody knows their outcome. Settle what is unknown, and run it again.`,
      );
  });
}

async function eraseAll(
  { operator }: Target,
  caller: string,
  reason: string,
): Promise<{ readonly erased: number; readonly left: number }> {
  let erased = 0;
  for (let calls = 1; ; calls += 1) {
    const result = await operator.erase(caller, { reason, limit: BATCH });
    erased += result.erased;
    if (result.left === 0 || result.erased === 0 || calls >= CALLS_MAX) return { erased, left: result.left };
  }
}
