/**
 * The `samekey` command: reads the command line and runs one command. Every command lives in `commands/`.
 */

import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { docsAt } from 'samekey';
import { exitCodeOf, explain } from './cli-error.ts';
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

/**
 * In the order in which the help lists them. Only the one that is asked for is loaded: each brings its drivers and
 * libraries along.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.ts')).demoCommand(),
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand(),
  inspect: async () => (await import('./commands/inspect.ts')).inspectCommand(),
  settle: async () => (await import('./commands/settle.ts')).settleCommand(),
  reopen: async () => (await import('./commands/reopen.ts')).reopenCommand(),
  forget: async () => (await import('./commands/forget.ts')).forgetCommand(),
  erase: async () => (await import('./commands/erase.ts')).eraseCommand(),
  requeue: async () => (await import('./commands/requeue.ts')).requeueCommand(),
  drop: async () => (await import('./commands/requeue.ts')).dropCommand(),
  audit: async () => (await import('./commands/audit.ts')).auditCommand(),
  console: async () => (await import('./commands/console.ts')).consoleCommand(),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  janitor: async () => (await import('./commands/janitor.ts')).janitorCommand(),
  worker: async () => (await import('./commands/worker.ts')).workerCommand(),
  reconcile: async () => (await import('./commands/reconcile.ts')).reconcileCommand(),
  'compare-ledger': async () => (await import('./commands/compare-ledger.ts')).compareLedgerCommand(),
  coverage: async () => (await import('./commands/coverage.ts')).coverageCommand(),
  verify: async () => (await import('./commands/verify.ts')).verifyCommand(),
};

/**
 * What stands first on the command line is the command; without one, or with one that is not there, the help needs them
 * all.
 */
const asked = process.argv[2] ?? '';
const wanted = Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS);
for (const name of wanted) {
  const command = await COMMANDS[name]?.();
  if (command === undefined) continue;
  // What it says of arguments repeats them: a misspelt option, or an address where a command should stand.
  command.configureOutput(SAFE_OUTPUT);
  program.addCommand(command);
}

// `samekey doctor | head`: who read has left. What is under way goes on, nothing more is printed, and the exit code
// stays what it would be.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

// Where an operator's own copy of the pages is served; an empty one names none.
const docs = process.env['SAMEKEY_DOCS_URL'] ?? '';

try {
  if (docs !== '') docsAt(docs);
  await program.parseAsync();
} catch (error) {
  note(`samekey: ${explain(error)}`);
  process.exitCode = exitCodeOf(error);
}
