/**
 * `samekey settle`: says what happened where nobody knew. Refused unless the record still is what was shown.
 *
 * Exit codes: 0 settled, or had been, just so · 1 it failed · 2 refused: not found, several, another state, not proven,
 * not confirmed · 5 somebody had settled it otherwise.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import type { SamekeyRecord } from 'samekey';
import { sealKeyIdsOf } from 'samekey/seal';
import { CliError, RefusedError } from '../cli-error.ts';
import { type ActFlags, actOnRecord, withAct } from '../operate/act.ts';
import { type AnswerFlags, answerOf, withAnswer } from '../operate/answer-flags.ts';
import { duration } from '../operate/duration.ts';
import { type RecordFlags, withRecord } from '../operate/find-record.ts';
import { type Target, withTarget } from '../operate/target.ts';

interface SettleFlags extends ActFlags, RecordFlags, AnswerFlags {
  readonly to: 'completed' | 'failed' | 'retryable';
  readonly ownerGone?: true;
  readonly downstreamKey?: true;
  readonly callTime?: number;
  readonly effectResult?: { readonly value: unknown };
}

const EFFECTS = {
  completed: 'retries get the answer you give, and nothing runs',
  failed: 'retries get the error you give, and nothing runs',
  retryable: 'the next request with this key runs the handler again',
} as const;

/** The command. */
export function settleCommand(): Command {
  const command = new Command('settle')
    .description('Say what happened to a record whose outcome is unknown')
    .argument('[key]', 'the key of the record')
    .addOption(
      new Option(
        '--to <state>',
        'what it is now: completed (it happened), failed (it was refused), retryable (nothing happened)',
      )
        .choices(['completed', 'failed', 'retryable'])
        .makeOptionMandatory(),
    )
    .option(
      '--owner-gone',
      'with --to retryable: whoever ran the attempt is proven gone, and every call of it has ended',
    )
    .option(
      '--downstream-key',
      'with --to retryable: every call carries a key under which the provider acts once',
    );
  command
    .option(
      '--call-time <duration>',
      'with --to retryable: how long a call may be under way after its claim has ended (default: what the open effect says, else 60s)',
      duration,
    )
    .option(
      '--effect-result <json>',
      'with --to retryable: the open effect did happen and gave this; the next attempt goes on behind it',
      json,
    );
  return withTarget(withRecord(withAct(withAnswer(command)))).action(run);
}

async function run(key: string | undefined, flags: SettleFlags): Promise<void> {
  const { to, ownerGone, downstreamKey, callTime, effectResult } = flags;
  const retryableOnly = [ownerGone, downstreamKey, callTime, effectResult].some((each) => each !== undefined);
  if (retryableOnly && to !== 'retryable')
    throw new CliError(
      '--owner-gone, --downstream-key, --call-time and --effect-result go with --to retryable.',
    );
  const response = answerOf(to, flags);
  const because = ownerGone === true ? 'owner-gone' : downstreamKey === true ? 'downstream-key' : undefined;
  await actOnRecord(
    key,
    flags,
    {
      question: () => `Settle it as ${to} (${EFFECTS[to]})`,
      done: ({ state }) => `Settled: ${state} → ${to}. From now on ${EFFECTS[to]}.`,
      misfit: 'Only unknown outcomes are settled; a failed key is opened again by samekey reopen.',
    },
    async (target, record, given) => {
      if (response !== null || effectResult !== undefined) await refuseClear(target, record);
      return target.operator.settle(record, {
        ...given,
        to,
        response,
        ...(because === undefined ? {} : { because }),
        ...(callTime === undefined ? {} : { callTimeMaxMs: callTime }),
        ...(effectResult === undefined ? {} : { effectResult: effectResult.value }),
      });
    },
  );
}

/** Newest records that are looked at, of any state: steps and inputs are sealed too, and some answers hold nothing. */
const LOOKED = 100;

/** Where answers are sealed, one that is given without the ring would stand there clear. */
async function refuseClear({ isBare, operator }: Target, own: SamekeyRecord): Promise<void> {
  if (!isBare) return;
  const newest = await operator.list({ limit: LOOKED });
  if (![own, ...newest].some((record) => sealKeyIdsOf(record).keyIds.length > 0)) return;
  throw new RefusedError(
    'Nothing was done: answers are sealed here, and this one would stand there clear. Settle with the ring of your application: use --app.',
  );
}

function json(text: string): { readonly value: unknown } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw new InvalidArgumentError('It must be JSON; a text is in double quotes.');
  }
}
