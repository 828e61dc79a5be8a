/**
 * What a store takes beside what people write by hand with the same client, and beside the raw limit of the engine: claim and complete
 * by as many callers, without HTTP, and replays. Contenders take turns round by round; prints medians, ranges and the ratio to the
 * hand-written one of the same round. See README.md.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { machine } from './machine.mjs';
import { median } from './table.mjs';

/**
 * @typedef {{ perSecond: number, callerUs: number, engineUs: number, p50Ms: number, p99Ms: number }} Round
 * @typedef {{ name: string, basis: string | null, measure: (load: { connections: number, seconds: number, again: boolean }) => Promise<Round>, stop: () => Promise<void> }} Contender
 * @typedef {object} Options
 * @property {string} store
 * @property {number} callers
 * @property {number} rounds
 * @property {number} seconds
 * @property {string} appendfsync Redis only
 * @property {readonly string[]} clients none: the engine's
 * @property {readonly string[]} only parts of names; none: all
 * @property {string} [profile] folder for CPU profiles of the callers
 */

const WARM_SECONDS = 1;

/** @param {Options} options */
export async function compareStores(options) {
  const { store, callers, rounds, seconds } = options;
  /** @type {{ start: import('./contract.d.ts').StartEngine }} */
  const { start } = await import(`./engines/${store}.mjs`);
  const engine = await start({ appendfsync: options.appendfsync });
  console.log(`${machine()}\n${engine.describe}`);
  console.log(
    `${callers} callers, ${rounds} rounds of ${seconds} s each, in turns; load ${load()} at the beginning`,
  );
  /** @type {Contender[]} */
  const contenders = [];
  try {
    for (const client of options.clients.length > 0 ? options.clients : engine.clients) {
      const basis = `hand-written, ${client}`;
      for (const kind of /** @type {const} */ (['hand-written', 'one-by-one', 'store', 'run'])) {
        const name = `${kind}, ${client}`;
        if (options.only.length > 0 && !options.only.some((part) => name.includes(part))) continue;
        // One call at a time over a connection is a question to what commits.
        if (kind === 'one-by-one' && (store === 'redis' || store === 'dynamodb')) continue;
        contenders.push(
          await forked({ kind, store, url: engine.url, client }, name, basis, engine, options.profile),
        );
      }
    }
    const { raw } = engine;
    if (raw !== undefined && options.only.length === 0) {
      contenders.push({
        name: raw.name,
        basis: contenders[0]?.basis ?? null,
        async measure({ connections, seconds: most }) {
          const before = engine.cpuUs();
          const startedAt = performance.now();
          const perSecond = await raw.run({ connections, seconds: most });
          const engineUs = (engine.cpuUs() - before) / (perSecond * ((performance.now() - startedAt) / 1000));
          return { perSecond, callerUs: 0, engineUs, p50Ms: 0, p99Ms: 0 };
        },
        stop: async () => undefined,
      });
    }
    await turns('new keys: claim and complete', contenders, false, options);
    await turns(
      'replays: known keys',
      contenders.filter(({ name }) => !name.startsWith('one-by-one') && name !== raw?.name),
      true,
      options,
    );
    console.log(`load ${load()} at the end`);
  } finally {
    for (const contender of contenders) await contender.stop();
    await engine.stop();
  }
}

/**
 * @param {string} title
 * @param {readonly Contender[]} contenders
 * @param {boolean} again
 * @param {Options} options
 */
async function turns(title, contenders, again, { callers: connections, rounds, seconds }) {
  for (const { measure } of contenders) await measure({ connections, seconds: WARM_SECONDS, again });
  /** @type {Map<string, Round[]>} */
  const seen = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // The order is reversed each round, so that a drift harms nobody.
    for (const { name, measure } of round % 2 === 0 ? contenders : contenders.toReversed())
      seen.get(name)?.push(await measure({ connections, seconds, again }));
  }
  console.log(`\n${title}\n${table(contenders, seen)}`);
}

const COLUMNS = ['keys/s', '(range)', 'ratio', '(range)', 'p50 ms', 'p99 ms', 'caller µs', 'engine µs'];

/** @param {readonly Contender[]} contenders @param {ReadonlyMap<string, readonly Round[]>} seen */
function table(contenders, seen) {
  const rows = contenders.map(({ name, basis }) => {
    const rounds = seen.get(name) ?? [];
    const of = (/** @type {keyof Round} */ field) => rounds.map((round) => round[field]);
    const rates = of('perSecond');
    const against = seen.get(basis ?? '') ?? [];
    const ratios = rates.map((rate, i) => rate / (against[i]?.perSecond ?? Number.NaN));
    return [
      name,
      median(rates).toFixed(0),
      `(${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)})`,
      median(ratios).toFixed(2),
      `(${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
      median(of('p50Ms')).toFixed(2),
      median(of('p99Ms')).toFixed(1),
      median(of('callerUs')).toFixed(0),
      median(of('engineUs')).toFixed(0),
    ];
  });
  return [['', ...COLUMNS], ...rows]
    .map(([name = '', ...cells]) => name.padEnd(28) + cells.map((cell) => cell.padStart(15)).join(''))
    .join('\n');
}

/**
 * @param {import('./contract.d.ts').Calls} calls
 * @param {string} name
 * @param {string} basis
 * @param {import('./contract.d.ts').Engine} engine
 * @param {string | undefined} profile
 * @returns {Promise<Contender>}
 */
async function forked(calls, name, basis, engine, profile) {
  const execArgv =
    profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval', '200', `--cpu-prof-dir=${profile}`];
  const env = { ...process.env, NODE_ENV: 'production' };
  const path = fileURLToPath(new URL('callers.mjs', import.meta.url));
  const child = fork(path, [JSON.stringify(calls)], { env, execArgv });
  const heard = () =>
    new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`The process of "${name}" has ended.`));
      child.once('exit', ended);
      child.once('message', (message) => {
        child.off('exit', ended);
        resolve(message);
      });
    });
  await heard();
  return {
    name,
    basis,
    async measure(order) {
      const before = engine.cpuUs();
      child.send(order);
      const done = await heard();
      return { ...done, engineUs: (engine.cpuUs() - before) / done.answered };
    },
    async stop() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.send('stop');
      await gone;
    },
  };
}

function load() {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(' ');
}
