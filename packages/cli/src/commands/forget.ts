/** `samekey forget`: drops a record, so that its key acts as never used. Exit codes as of `samekey settle`. */

import { Command } from 'commander';
import type { SamekeyRecord } from 'samekey';
import { type ActFlags, actOnRecord, withAct } from '../operate/act.ts';
import { type RecordFlags, withRecord } from '../operate/find-record.ts';
import { withTarget } from '../operate/target.ts';

interface ForgetFlags extends ActFlags, RecordFlags {
  readonly effect: boolean;
}

/** The command. */
export function forgetCommand(): Command {
  const command = new Command('forget')
    .description('Drop a final record: its key acts as never used, and a retry runs again')
    .argument('[key]', 'the key of the record')
    .option(
      '--no-effect',
      'nobody came to know whether it took effect, and now it is known: nothing happened',
    );
  return withTarget(withRecord(withAct(command))).action((key: string | undefined, flags: ForgetFlags) =>
    actOnRecord(
      key,
      flags,
      {
        question: (record) =>
          `Forget it (its ${hasHappened(record) ? 'EFFECT HAS HAPPENED, and a retry makes it happen again' : 'answer is dropped, and a retry runs'})`,
        done: ({ state }) =>
          `Forgotten: it was ${state}. Its key acts as never used, at the latest in six seconds.`,
        misfit:
          'Records that are pending, in progress or unknown are not forgotten: settle what is unknown first.',
        notProven:
          'Nobody came to know whether it took effect, and a retry would make it happen again. Look (the business tables, the provider); if nothing happened, say --no-effect.',
      },
      ({ operator }, record, given) =>
        // Commander's `--no-…` is true unless it is said.
        operator.forget(record, { ...given, ...(flags.effect ? {} : { effect: 'none' }) }),
    ),
  );
}

/** Whether something of it has happened for sure: it is done, or an effect of it is. */
function hasHappened({ state, steps }: SamekeyRecord): boolean {
  return state === 'completed' || (steps?.includes('"done":{"result"') ?? false);
}
