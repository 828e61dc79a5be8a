/**
 * Runs contenders in turns, round by round, so that a machine that gets slower or faster meanwhile changes all of them, and
 * prints medians, ranges and ratios to the hand-written one of the same round. Exits with 1 when a key ran twice or not at all,
 * or an answer was not the expected one.
 */
import { pathToFileURL } from 'node:url';
import { findPgbench, pgbench } from './contenders/pgbench.mjs';
import { startDatabase } from './database.mjs';
import { machine } from './machine.mjs';
import { overHttp } from './over-http.mjs';
import { startNeighbours } from './neighbours.mjs';
import { median } from './table.mjs';

/**
 * @typedef {import('./contract.d.ts').Measured} Measured
 * @typedef {{ name: string, connections: number, rounds: Measured[] }} Line
 * @typedef {object} Options
 * @property {import('./contract.d.ts').Workload} workload
 * @property {number[]} connections
 * @property {number} rounds
 * @property {number} seconds
 * @property {string} store
 * @property {string} [client] where a store may have several
 * @property {string} appendfsync Redis only
 * @property {string} framework
 * @property {number} neighbours busy processes beside the run
 * @property {number} commitMs how much longer a flush of the database's log takes, in milliseconds
 * @property {string[]} only names of contenders; none: all
 * @property {string} [also] the path of one more contender's module
 * @property {boolean} json
 * @property {string} [profile]
 */

const BASIS = 'hand-written';
const OURS = 'contenders/samekey.mjs';

/** @param {Options} options */
export async function compare(options) {
  const database = await started(options);
  const say = options.json ? () => undefined : console.log;
  say(`${machine()}\n${database.describe}`);
  say(
    `${options.workload}, ${options.framework}, ${options.rounds} rounds of ${options.seconds} s each, in turns${beside(options)}`,
  );
  /** @type {import('./contract.d.ts').Contender[]} */
  const contenders = [];
  /** @type {Line[]} */
  const lines = [];
  /** @type {(() => void) | null} */
  let endNeighbours = null;
  try {
    for (const start of starters(options, database)) contenders.push(await start());
    endNeighbours = startNeighbours(options.neighbours);
    for (const connections of options.connections) {
      const these = contenders.map(({ name }) => ({
        name,
        connections,
        rounds: /** @type {Measured[]} */ ([]),
      }));
      lines.push(...these);
      for (let round = 0; round < options.rounds; round++) {
        for (const [i, contender] of contenders.entries()) {
          these[i]?.rounds.push(await contender.measure({ connections, seconds: options.seconds }));
        }
      }
      say(`\n${connections} connection${connections === 1 ? '' : 's'}\n${table(these)}`);
    }
  } finally {
    endNeighbours?.();
    for (const contender of contenders) await contender.stop();
    await database.stop();
  }
  const faults = lines.flatMap(({ name, connections, rounds }) =>
    rounds.flatMap((round) => round.faults.map((fault) => `${name}, ${connections} connections: ${fault}`)),
  );
  if (options.json) {
    console.log(JSON.stringify({ machine: machine(), database: database.describe, options, lines, faults }));
  } else {
    say(faults.length === 0 ? '\nEvery key ran once; no answer was another than 201.' : faults.join('\n'));
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/** @param {Options} options */
function beside({ neighbours }) {
  return neighbours === 0 ? '' : `, beside ${neighbours} busy processes`;
}

/** @typedef {{ url: string, describe: string, cpuUs: () => number, stop: () => Promise<void> }} Database */

/** @param {Options} options @returns {Promise<Database>} */
async function started({ store, commitMs, appendfsync }) {
  if (store === 'postgres' || store === 'memory') return startDatabase(commitMs);
  /** @type {{ start: import('./contract.d.ts').StartEngine }} */
  const { start } = await import(`./engines/${store}.mjs`);
  return start({ appendfsync });
}

/**
 * @param {Options} options
 * @param {Database} database
 */
function starters({ workload, store, client, framework, only, also, profile }, database) {
  const isPostgres = store === 'postgres' || store === 'memory';
  const http = (/** @type {string} */ name, /** @type {string} */ module, cache = false) => ({
    name,
    start: () =>
      overHttp(
        {
          name,
          module: new URL(module, import.meta.url).href,
          workload,
          store,
          framework,
          cache,
          ...(client === undefined ? {} : { client }),
          ...(profile === undefined ? {} : { profile }),
        },
        database,
      ),
  });
  const all = [http('bare', 'contenders/bare.mjs'), http(BASIS, basisOf(workload, isPostgres))];
  if (workload !== 'golden' && isPostgres) all.push(http('grouped', 'contenders/grouped.mjs'));
  if (workload === 'golden') {
    all.push(http('samekey', 'contenders/samekey-transaction.mjs', true));
    all.push(http('samekey, one commit', 'contenders/samekey-one-commit.mjs', true));
  } else if (workload === 'replays') {
    all.push(http('samekey', OURS), http('samekey, from memory', OURS, true));
  } else {
    all.push(http('samekey', OURS, true));
    const program = isPostgres ? findPgbench() : null;
    if (program === undefined) console.error('No pgbench here: left out.');
    else if (program !== null) all.push({ name: 'pgbench', start: () => pgbench(program, database) });
  }
  if (also !== undefined) all.push(http(also, pathToFileURL(also).href));
  return all.filter(({ name }) => only.length === 0 || only.includes(name)).map(({ start }) => start);
}

/** @param {import('./contract.d.ts').Workload} workload @param {boolean} isPostgres */
function basisOf(workload, isPostgres) {
  if (workload === 'golden') return 'contenders/hand-written-transaction.mjs';
  return isPostgres ? 'contenders/hand-written.mjs' : 'contenders/hand-written-store.mjs';
}

const COLUMNS = [
  'requests/s',
  '(range)',
  'ratio',
  'p50 ms',
  'p99 ms',
  'server µs',
  'database µs',
  'client µs',
];

/** @param {readonly Line[]} lines */
function table(lines) {
  const basis = lines.find(({ name }) => name === BASIS)?.rounds;
  const rows = lines.map(({ name, rounds }) => {
    const of = (/** @type {keyof Measured} */ field) => rounds.map((round) => Number(round[field]));
    const rates = of('perSecond');
    const ratios = rates.map((rate, i) => rate / (basis?.[i]?.perSecond ?? Number.NaN));
    return [
      name,
      median(rates).toFixed(0),
      `(${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)})`,
      Number.isNaN(ratios[0]) ? '–' : median(ratios).toFixed(2),
      median(of('p50Ms')).toFixed(2),
      median(of('p99Ms')).toFixed(1),
      ...['serverUs', 'databaseUs', 'clientUs'].map((field) =>
        median(of(/** @type {keyof Measured} */ (field))).toFixed(0),
      ),
    ];
  });
  return [['', ...COLUMNS], ...rows]
    .map(([name = '', ...cells]) => name.padEnd(22) + cells.map((cell) => cell.padStart(14)).join(''))
    .join('\n');
}
