/**
 * `samekey worker`: delivers the messages of an application's outbox to its handlers, and pushes its unfinished
 * operations on. The application is a module: docs/reference/cli.md says its shape.
 */

import { Command } from 'commander';
import { createWorker } from 'samekey/worker';
import { loadApp } from '../app/load-app.ts';
import { runService, type ServiceFlags, withService } from '../service/run-service.ts';

interface WorkerFlags extends ServiceFlags {
  readonly app: string;
}

/** The command. */
export function workerCommand(): Command {
  const command = new Command('worker')
    .description("Deliver messages to an application's handlers, and push its unfinished operations on")
    .requiredOption('--app <module>', 'exports { samekey, handlers?, worker?, close? } by default');
  return withService(command).action(run);
}

async function run(flags: WorkerFlags): Promise<void> {
  const app = await loadApp(flags.app);
  try {
    await runService('worker', flags, app.samekey.store, ({ listen }) =>
      createWorker({
        ...app.worker,
        samekey: app.samekey,
        ...(app.handlers === undefined ? {} : { handlers: app.handlers }),
        onEvent: listen('worker'),
      }),
    );
  } finally {
    await app.samekey.close();
    await app.close?.();
  }
}
