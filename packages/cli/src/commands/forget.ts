/** `samekey forget`: drops a record, so that its key acts as never used. Exit codes as of `samekey settle`. */

import { Command } from 'commander';
import { type ActFlags, actOnRecord, withAct } from '../operate/act.ts';
import { type RecordFlags, withRecord } from '../operate/find-record.ts';
import { withTarget } from '../operate/target.ts';

/** The command. */
export function forgetCommand(): Command {
  const command = new Command('forget')
    .description('Drop a final record: its key acts as never used, and a retry runs again')
    .argument('[key]', 'the key of the record');
  return withTarget(withRecord(withAct(command))).action(
    (key: string | undefined, flags: ActFlags & RecordFlags) =>
      actOnRecord(
        key,
        flags,
        {
          question: ({ state }) =>
            `Forget it (its ${state === 'completed' ? 'EFFECT HAS HAPPENED, and a retry makes it happen again' : 'answer is dropped, and a retry runs'})`,
          done: ({ state }) =>
            `Forgotten: it was ${state}. Its key acts as never used, at the latest in six seconds.`,
          misfit:
            'Records that are pending, in progress or unknown are not forgotten: settle what is unknown first.',
        },
        ({ operator }, record, given) => operator.forget(record, given),
      ),
  );
}
