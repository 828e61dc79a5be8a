/** `samekey demo`: a payments API to try, a load of impatient customers for it, and chaos. */

import { randomBytes, randomInt } from 'node:crypto';
import { Command, Option } from 'commander';
import { CliError, explain } from '../cli-error.ts';
import { runChaos } from '../demo/chaos.ts';
import type { Port } from '../demo/listen.ts';
import { createLoad, type Load } from '../demo/load.ts';
import {
  liveLine,
  outliveReader,
  progressLine,
  say,
  sayCall,
  sayChaosLedger,
  sayLedger,
  sayRequest,
  sayTries,
  sayNoExplainer,
  sayWhere,
} from '../demo/narration.ts';
import { hasExplainer } from '../demo/explainer-pages.ts';
import { type Api, startDemo } from '../demo/start.ts';
import { stopOnSignals } from '../demo/stop-on-signals.ts';
import { DEMO_TENANT } from '../demo/tenant.ts';
import { tries } from '../demo/tries.ts';
import { wholeNumber } from '../operate/arguments.ts';

interface DemoFlags {
  readonly port?: number;
  readonly dir: string;
  readonly explainer?: string;
  readonly load?: true;
  readonly chaos?: true;
  readonly seed?: number;
  readonly unprotected?: true;
  readonly customers?: number;
  readonly exit?: true;
}

const PORT_DEFAULT = 4000;
const PORT_MAX = 65_535;
const CUSTOMERS_MAX = 10_000;
const CUSTOMERS_DEFAULT = { load: 200, chaos: 60 };
const SEED_MAX = 2 ** 31 - 1;

/** The command. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Start a payments API on SQLite, its worker and a payment provider, and print what to try')
    .addOption(
      new Option('--port <port>', 'port to listen on; 0 for any (default: PORT, else 4000 or the next free)')
        .env('SAMEKEY_DEMO_PORT')
        .argParser(wholeNumber(0, PORT_MAX)),
    )
    .addOption(
      new Option('--dir <folder>', 'where the data is kept').env('SAMEKEY_DEMO_DIR').default('.samekey-demo'),
    )
    .option(
      '--explainer <folder>',
      'serve the explainer beside the API: the folder that its page was made in',
    )
    .option('--load', 'add customers who click twice and lose answers, and print the ledger', undefined)
    .option(
      '--chaos',
      'customers, a provider that fails, and processes that are killed; ends after the ledger',
    )
    .addOption(
      new Option('--seed <number>', 'which chaos (default: another one each time, printed)').argParser(
        wholeNumber(0, SEED_MAX),
      ),
    )
    .option(
      '--unprotected',
      'with --chaos: call the provider just so, with another key each time, to see what that does',
    )
    .addOption(
      new Option(
        '--customers <count>',
        `how many of them (default: ${CUSTOMERS_DEFAULT.load}; with --chaos ${CUSTOMERS_DEFAULT.chaos})`,
      ).argParser(wholeNumber(1, CUSTOMERS_MAX)),
    )
    .option('--exit', 'end after the ledger of --load; exit code 1 if an intent was charged wrong')
    .action(run);
}

async function run(flags: DemoFlags): Promise<void> {
  if (flags.exit === true && flags.load !== true) throw new CliError('--exit goes with --load.');
  if (flags.seed !== undefined && flags.chaos !== true) throw new CliError('--seed goes with --chaos.');
  if (flags.unprotected === true && flags.chaos !== true)
    throw new CliError('--unprotected goes with --chaos.');
  if (flags.load === true && flags.chaos === true)
    throw new CliError('--chaos has customers of its own: leave --load out.');
  outliveReader();
  if (flags.chaos === true) {
    await chaos(flags);
    return;
  }
  const tag = randomBytes(3).toString('hex');
  const explainer = flags.explainer !== undefined && hasExplainer(flags.explainer) ? flags.explainer : null;
  // Requests begun earlier are not logged: thousands of lines of a load would bury its ledger.
  let logFrom = flags.load === true ? Number.POSITIVE_INFINITY : 0;
  const demo = await startDemo({
    dir: flags.dir,
    port: portOf(flags),
    quiet: flags.load === true,
    tries: (origin) => tries(origin, tag),
    explainer,
    onRequest(seen) {
      if (seen.startedAt >= logFrom) sayRequest(seen);
    },
    onCall(call) {
      if (performance.now() - call.durationMs >= logFrom) sayCall(call);
    },
    onError: (error) => say(explain(error)),
  });
  const stopping = stopOnSignals(async () => sayLeft(await demo.stop()));
  sayWhere(demo.origin, demo.folder, explainer !== null);
  if (flags.explainer !== undefined && explainer === null) sayNoExplainer(flags.explainer);
  if (flags.exit !== true) sayTries(tries(demo.origin, tag));
  if (flags.load !== true) {
    say('From here on, one line per request:');
    return;
  }
  await runLoad(demo, flags.customers ?? CUSTOMERS_DEFAULT.load, stopping.signal);
  if (stopping.signal.aborted) return;
  if (flags.exit === true) {
    await stopping.stop();
    return;
  }
  logFrom = performance.now();
  say(`The demo goes on at ${demo.origin}, with one line per request. Ctrl-C stops it.`);
}

async function runLoad(demo: Api, customers: number, signal: AbortSignal): Promise<void> {
  say(`Load: ${customers} customers click twice, lose answers, and retry until they have one`);
  const load = createLoad({
    origin: demo.origin,
    customers,
    signal,
    charges: () => demo.intents(DEMO_TENANT),
  });
  demo.listenTo(load.onEvent);
  const line = liveLine(() => progressLine(load.progress()));
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

async function chaos(flags: DemoFlags): Promise<void> {
  const { customers = CUSTOMERS_DEFAULT.chaos, seed = randomInt(SEED_MAX) } = flags;
  const stopping = stopOnSignals(async () => undefined);
  say(
    `Chaos with --seed ${seed}: ${customers} customers, a provider that fails in half of its calls, and kill -9`,
  );
  let load: Load | undefined;
  let killed = '';
  const line = liveLine(() => {
    const { served = 0, lost = 0 } = load?.progress() ?? {};
    return `${served}/${customers} customers served · lost answers ${lost}${killed}`;
  });
  try {
    const ledger = await runChaos({
      dir: flags.dir,
      seed,
      customers,
      unprotected: flags.unprotected === true,
      signal: stopping.signal,
      onLoad: (made) => {
        load = made;
      },
      onKill: (what) => {
        killed = ` · last killed: ${what}`;
      },
    });
    line.end();
    sayChaosLedger(ledger);
    if (ledger.faults.length > 0) process.exitCode = 1;
  } catch (error) {
    line.end();
    if (!stopping.signal.aborted) throw error;
  }
  await stopping.stop();
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
