/** `samekey demo`: a payments API to try, and a load of impatient customers for it. */

import { randomBytes } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import { CliError, explain } from '../cli-error.ts';
import type { Port } from '../demo/listen.ts';
import { createLoad } from '../demo/load.ts';
import { page } from '../demo/page.ts';
import { liveLine, outliveReader, say, sayLedger, sayRequest, sayTries, sayWhere } from '../demo/print.ts';
import { type Demo, startDemo } from '../demo/start.ts';
import { stopOnSignals } from '../demo/stop-on-signals.ts';
import { DEMO_TENANT } from '../demo/tenant.ts';
import { tries } from '../demo/tries.ts';

interface DemoFlags {
  readonly port?: number;
  readonly dir: string;
  readonly load?: true;
  readonly customers: number;
  readonly exit?: true;
}

const PORT_DEFAULT = 4000;
const PORT_MAX = 65_535;
const CUSTOMERS_MAX = 10_000;

/** The command. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Start a payments API on SQLite, and print what to try')
    .addOption(
      new Option('--port <port>', 'port to listen on; 0 for any (default: PORT, else 4000 or the next free)')
        .env('SAMEKEY_DEMO_PORT')
        .argParser(wholeNumber(0, PORT_MAX)),
    )
    .addOption(
      new Option('--dir <folder>', 'where the data is kept').env('SAMEKEY_DEMO_DIR').default('.samekey-demo'),
    )
    .option('--load', 'add customers who click twice and lose answers, and print the ledger', undefined)
    .addOption(
      new Option('--customers <count>', 'how many of them')
        .default(200)
        .argParser(wholeNumber(1, CUSTOMERS_MAX)),
    )
    .option('--exit', 'end after the ledger of --load; exit code 1 if an intent was charged wrong')
    .action(run);
}

async function run(flags: DemoFlags): Promise<void> {
  if (flags.exit === true && flags.load !== true) throw new CliError('--exit goes with --load.');
  outliveReader();
  const tag = randomBytes(3).toString('hex');
  // Requests begun earlier are not logged: thousands of lines of a load would bury its ledger.
  let logFrom = flags.load === true ? Number.POSITIVE_INFINITY : 0;
  const demo = await startDemo({
    dir: flags.dir,
    port: portOf(flags),
    page: (origin) => page(tries(origin, tag)),
    onRequest(seen) {
      if (seen.startedAt >= logFrom) sayRequest(seen);
    },
    onError: (error) => say(explain(error)),
  });
  const stopping = stopOnSignals(async () => sayLeft(await demo.stop()));
  sayWhere(demo.origin, demo.folder);
  if (flags.exit !== true) sayTries(tries(demo.origin, tag));
  if (flags.load !== true) {
    say('From here on, one line per request:');
    return;
  }
  await runLoad(demo, flags.customers, stopping.signal);
  if (stopping.signal.aborted) return;
  if (flags.exit === true) {
    await stopping.stop();
    return;
  }
  logFrom = performance.now();
  say(`The demo goes on at ${demo.origin}, with one line per request. Ctrl-C stops it.`);
}

async function runLoad(demo: Demo, customers: number, signal: AbortSignal): Promise<void> {
  say(`Load: ${customers} customers click twice, lose answers, and retry until they have one`);
  const load = createLoad({
    origin: demo.origin,
    customers,
    signal,
    charges: () => demo.ledger.intents(DEMO_TENANT),
  });
  demo.listenTo(load.onEvent);
  const line = liveLine(() => load.progress());
  try {
    const ledger = await load.run();
    line.end();
    sayLedger(ledger);
    if (ledger.faults.length > 0) process.exitCode = 1;
  } catch (error) {
    line.end();
    // Ctrl-C in the middle of a load is no fault.
    if (!signal.aborted) throw error;
  }
}

function sayLeft(left: number): void {
  say(left === 0 ? 'Stopped.' : `Stopped; ${left} requests were still running, their outcome is unknown.`);
}

function portOf({ port }: DemoFlags): Port {
  if (port !== undefined) return { number: port, asked: true };
  const text = process.env['PORT'];
  if (text === undefined || text === '') return { number: PORT_DEFAULT, asked: false };
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > PORT_MAX) {
    throw new CliError(`PORT is "${text}": it must be a whole number from 0 to ${PORT_MAX}.`);
  }
  return { number, asked: true };
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
