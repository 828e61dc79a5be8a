/**
 * The `samekey` command: reads the command line and runs one command. Every command lives in `commands/`.
 */

import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { exitCodeOf, explain } from './cli-error.ts';
import { auditCommand } from './commands/audit.ts';
import { compareLedgerCommand } from './commands/compare-ledger.ts';
import { coverageCommand } from './commands/coverage.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eraseCommand } from './commands/erase.ts';
import { forgetCommand } from './commands/forget.ts';
import { inspectCommand } from './commands/inspect.ts';
import { janitorCommand } from './commands/janitor.ts';
import { migrateCommand } from './commands/migrate.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { reopenCommand } from './commands/reopen.ts';
import { dropCommand, requeueCommand } from './commands/requeue.ts';
import { settleCommand } from './commands/settle.ts';
import { verifyCommand } from './commands/verify.ts';
import { workerCommand } from './commands/worker.ts';
import { note } from './operate/print.ts';
import { withoutSecrets } from './secrets.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const SAFE_OUTPUT = {
  outputError: (text: string, write: (text: string) => void) => write(withoutSecrets(text)),
};

const program = new Command('samekey')
  .configureOutput(SAFE_OUTPUT)
  .description('Same key, same answer: makes state-changing APIs safe to retry.')
  .version(version)
  .showHelpAfterError('(samekey --help shows what there is)');

/** In the order in which the help lists them. */
const COMMANDS: readonly (() => Command)[] = [
  demoCommand,
  migrateCommand,
  inspectCommand,
  settleCommand,
  reopenCommand,
  forgetCommand,
  eraseCommand,
  requeueCommand,
  dropCommand,
  auditCommand,
  doctorCommand,
  janitorCommand,
  workerCommand,
  reconcileCommand,
  compareLedgerCommand,
  coverageCommand,
  verifyCommand,
];
for (const make of COMMANDS) {
  const command = make();
  // What it says of arguments repeats them: a misspelt option, or an address where a command should stand.
  command.configureOutput(SAFE_OUTPUT);
  program.addCommand(command);
}

// `samekey doctor | head`: who read has left. What is under way goes on, nothing more is printed, and the exit code stays what it would be.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

try {
  await program.parseAsync();
} catch (error) {
  note(`samekey: ${explain(error)}`);
  process.exitCode = exitCodeOf(error);
}
