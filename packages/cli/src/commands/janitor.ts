/**
 * `samekey janitor`: ends claims of processes that died, gives up what nobody will ever know, deletes what has expired,
 * prunes the audit. As a service, or once for a job that runs by the clock. Any number may run at once.
 *
 * Exit codes: 0 done, or stopped · 1 it failed.
 */

import { Command, InvalidArgumentError } from 'commander';
import { createJanitor, type JanitorOptions } from 'samekey/janitor';
import { CliError } from '../cli-error.ts';
import { duration, shortDuration } from '../operate/duration.ts';
import { say } from '../operate/print.ts';
import { onTarget, type Target, type TargetFlags, withTarget } from '../operate/target.ts';
import { createTally, type Tally } from '../service/janitor-tally.ts';
import { logOnce, runService, type ServiceFlags, withService } from '../service/run-service.ts';
import { watchClaims } from '../service/watch-claims.ts';

interface JanitorFlags extends TargetFlags, ServiceFlags {
  readonly once?: true;
  readonly sweepEvery?: number;
  readonly reapEvery?: number;
  readonly unknownMax?: number;
  readonly auditRetention?: number;
  readonly transitionRetention?: number;
}

/** The command. */
export function janitorCommand(): Command {
  const command = new Command('janitor')
    .description('End claims that are over, delete what has expired, prune the audit')
    .option('--once', 'do what is due now, and end')
    .option(
      '--sweep-every <duration>',
      'how often claims that are over are looked for (default: 10s)',
      atLeast(1),
    )
    .option('--reap-every <duration>', 'how often expired records are looked for (default: 60s)', atLeast(1))
    .option(
      '--unknown-max <duration>',
      'outcomes unknown for longer are given up as failed (default: 30d)',
      atLeast(1),
    )
    .option(
      '--audit-retention <duration>',
      'acts in the audit that are older are deleted (default: none are)',
      duration,
    )
    .option(
      '--transition-retention <duration>',
      'the same for changes of state, where they are kept (default: none are)',
      duration,
    );
  return withService(withTarget(command)).action(run);
}

async function run(flags: JanitorFlags): Promise<void> {
  if (flags.json === true && flags.once !== true)
    throw new CliError('--json goes with --once; a service logs JSON anyway.');
  await onTarget(flags, null, async (target) => {
    await target.store.ready();
    await (flags.once === true ? once(target, flags) : serve(target, flags));
  });
}

async function serve({ store }: Target, flags: JanitorFlags): Promise<void> {
  await runService('janitor', flags, store, ({ listen, metrics }) => {
    const janitor = createJanitor({ store, ...optionsOf(flags), onEvent: listen('janitor') });
    // One process that looks at the store for the gauges is enough, and this is the one that is there once.
    const observer = metrics?.observeStore(store);
    return {
      start: () => janitor.start(),
      ready: () => store.ready(),
      async stop() {
        await Promise.all([janitor.stop(), observer?.stop()]);
        return 0;
      },
    };
  });
}

async function once(target: Target, flags: JanitorFlags): Promise<void> {
  const { store } = target;
  const tally = createTally(logOnce('janitor', flags, 'janitor'));
  const janitor = createJanitor({ store, ...optionsOf(flags), onEvent: tally.listener });
  await janitor.run();
  await watchClaims(target, () => janitor.run());
  await janitor.stop();
  const { error } = tally;
  if (error !== null) throw error;
  if (flags.json === true) return say({ ...target.about, ...tally.counts() });
  say(words(tally));
}

function words(tally: Tally): string {
  const { swept, reaped, pruned, durationMs } = tally.counts();
  const to = Object.entries(swept).map(([state, count]) => `${count} ${state}`);
  const total = Object.values(swept).reduce((sum, count) => sum + count, 0);
  return (
    `${total} ${total === 1 ? 'claim was over and is ended' : 'claims were over and are ended'}${to.length === 0 ? '' : ` (${to.join(', ')})`}, ` +
    `${reaped} expired records are deleted, ${pruned} rows of the audit are pruned, in ${shortDuration(durationMs)}.`
  );
}

function optionsOf(flags: JanitorFlags): Omit<JanitorOptions, 'samekey' | 'store' | 'onEvent'> {
  const { sweepEvery, reapEvery, unknownMax, auditRetention, transitionRetention } = flags;
  return {
    ...(sweepEvery === undefined ? {} : { sweepMs: sweepEvery }),
    ...(reapEvery === undefined ? {} : { reapMs: reapEvery }),
    ...(unknownMax === undefined ? {} : { unknownMaxMs: unknownMax }),
    ...(auditRetention === undefined ? {} : { auditRetentionMs: auditRetention }),
    ...(transitionRetention === undefined ? {} : { transitionRetentionMs: transitionRetention }),
  };
}

function atLeast(ms: number): (text: string) => number {
  return (text) => {
    const given = duration(text);
    if (given < ms) throw new InvalidArgumentError('It must be longer than nothing.');
    return given;
  };
}
