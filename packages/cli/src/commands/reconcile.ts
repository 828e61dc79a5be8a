/**
 * `samekey reconcile`: finds out what became of unknown outcomes, by the application's own questions to its providers,
 * and settles them. As a service, or once for a job that runs by the clock.
 *
 * Exit codes: 0 stopped with nothing left; `--once`: all that was due is settled or put off · 1 it failed · 2 `--once`:
 * questions failed, or outcomes were given up or contradict each other: a person has to look.
 */

import { Command } from 'commander';
import { createReconciler, type ReconcileReport, type ReconcilerOptions } from 'samekey/reconcile';
import { type App, loadApp } from '../app/load-app.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { say } from '../operate/print.ts';
import { logOnce, runService, type ServiceFlags, withService } from '../service/run-service.ts';

interface ReconcileFlags extends ServiceFlags {
  readonly app: string;
  readonly once?: true;
  readonly json?: true;
}

/** The command. */
export function reconcileCommand(): Command {
  const command = new Command('reconcile')
    .description('Ask what became of unknown outcomes, and settle them')
    .requiredOption('--app <module>', 'exports { samekey, reconcile: { operations }, close? } by default')
    .option('--once', 'ask about what is due now, and end')
    .option('--json', 'with --once: say what it came to as one line of JSON');
  return withService(command).action(run);
}

async function run(flags: ReconcileFlags): Promise<void> {
  if (flags.json === true && flags.once !== true) throw new CliError('--json goes with --once.');
  const app = await loadApp(flags.app);
  const reconcile = reconcileOf(app, flags.app);
  try {
    if (flags.once === true) await once(app, reconcile, flags);
    else
      await runService('reconcile', flags, app.samekey.store, ({ listen }) => {
        const reconciler = createReconciler({
          ...reconcile,
          samekey: app.samekey,
          onEvent: listen('reconciler'),
        });
        return {
          start: () => reconciler.start(),
          ready: () => app.samekey.ready(),
          stop: (options) => reconciler.stop(options),
        };
      });
  } finally {
    await app.samekey.close();
    await app.close?.();
  }
}

async function once(app: App, reconcile: AppReconcile, flags: ReconcileFlags): Promise<void> {
  await app.samekey.ready();
  const reconciler = createReconciler({
    ...reconcile,
    samekey: app.samekey,
    // Lines of JSON go to stderr, so that stdout is the report.
    onEvent: logOnce('reconcile', flags, 'reconciler'),
  });
  const report = await reconciler.run();
  await reconciler.stop({ drainMs: flags.drain });
  if (report.failed > 0 || report.givenUp > 0 || report.contradiction > 0) process.exitCode = EXIT.refused;
  say(flags.json === true ? report : words(report));
}

function words(report: ReconcileReport): string {
  const { taken, resolved, already, scheduled, failed, givenUp, contradiction, left } = report;
  return (
    `${taken} outcomes were due: ${resolved} settled, ${already} had been, ${scheduled} not known yet, ${failed} questions failed, ` +
    `${givenUp} given up, ${contradiction} contradictions, ${left} left.`
  );
}

type AppReconcile = Omit<ReconcilerOptions, 'samekey' | 'store' | 'onEvent'>;

function reconcileOf({ reconcile }: App, path: string): AppReconcile {
  if (reconcile !== undefined && 'operations' in reconcile) return reconcile as unknown as AppReconcile;
  throw new CliError(
    `The default export of ${path} has no reconcile: { operations }, which says how to ask about an outcome.`,
  );
}
