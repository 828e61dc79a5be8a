/** `samekey reopen`: lets a failed key run again. Exit codes as of `samekey settle`. */

import { Command } from 'commander';
import { type ActFlags, actOnRecord, withAct } from '../operate/act.ts';
import { type RecordFlags, withRecord } from '../operate/find-record.ts';
import { withTarget } from '../operate/target.ts';

interface ReopenFlags extends ActFlags, RecordFlags {
  readonly effect: boolean;
}

/** The command. */
export function reopenCommand(): Command {
  const command = new Command('reopen')
    .description('Let a failed key run again: the next request with it runs the handler')
    .argument('[key]', 'the key of the record')
    .option('--no-effect', 'nobody came to know its outcome, and now it is known: nothing happened');
  return withTarget(withRecord(withAct(command))).action((key: string | undefined, flags: ReopenFlags) =>
    actOnRecord(
      key,
      flags,
      {
        question: () =>
          'Reopen it (its stored error is dropped, and the next request with this key runs the handler again)',
        done: () =>
          'Reopened: failed → retryable. It runs with the next request, at the earliest in six seconds.',
        misfit:
          'Only failed keys are reopened; an unknown outcome is settled, any other final one is forgotten.',
        notProven:
          'Nobody came to know its outcome, so it may have taken effect. Look (the business tables, the provider); if nothing happened, say --no-effect.',
      },
      ({ operator }, record, given) =>
        // Commander's `--no-…` is true unless it is said.
        operator.reopen(record, { ...given, ...(flags.effect ? {} : { effect: 'none' }) }),
    ),
  );
}
