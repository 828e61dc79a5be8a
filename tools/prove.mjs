/**
 * Why: what must never happen is looked for longer than a test may take. Runs the proofs in `tools/proofs`, one after the other,
 * by the round; a round follows from its seed alone, so a failure is seen again with `--seed <its seed> --rounds 1`.
 *
 *   npm run prove -- --seed 1 [--rounds 1000000] [--seconds 600] [--only simulator] [--store postgres] [--door express]
 *
 * `--histories` is `--rounds`; a proof may also be named without `--only`. Proofs on real processes run over each store that
 * this machine has, or those of `--store`; one of them is also named `races:postgres`. Proofs of doors run over each of them, or
 * those of `--door`. A new proof is a module in `tools/proofs` that exports `name`, `run(options)` and, if it takes a store or a
 * door, `stores` or `doors`, and one line in PROOFS. One that exports `piece` is cut into pieces of so many rounds, run by a
 * process on each core; the others have the machine for themselves.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundlePrograms } from './lib/programs.mjs';
import { isAvailable } from './proofs/backend.mjs';

/** In the order in which they run: the quickest to fail first. */
const PROOFS = [
  'simulator',
  'simulator-phased',
  'simulator-workers',
  'reconcile',
  'explainer',
  'fuzz',
  'simulator-stores',
  'races',
  'golden',
  'orders',
  'reconcile-processes',
  'background',
  'deploys',
  'kills',
  'restarts',
  'promotions',
  'browser',
  'console-plans',
  'mutants',
];

/** @typedef {{ seed: number, rounds?: number, seconds?: number, store?: string, door?: string }} Piece */
/** @typedef {{ rounds: number, failures: string[] }} Result */
/** @typedef {Piece & { log(line: string): void }} Options */
/** @typedef {{ piece?: number, rounds?: number, stores?: string[], doors?: string[] }} Bounds */
/** @typedef {Bounds & { name: string, run(options: Options): Promise<Result> }} Proof */
/** @typedef {{ name: string, proof: string, store?: string, door?: string }} Job a proof, over a store or a door if it takes one */
/** @typedef {{ log: string } | { result: Result }} Message */

/** @param {string} name @returns {Promise<Proof>} */
const load = (name) => import(`./proofs/${name}.mjs`);

const self = fileURLToPath(import.meta.url);
const PROGRESS_MS = 10_000;

if (process.send === undefined) process.exitCode = await main(process.argv.slice(2)).catch(told);
else await serve();

/** An option that is none is told in a line, and how it is asked. @param {unknown} error */
function told(error) {
  const { code, message } = /** @type {{ code?: unknown, message?: string }} */ (error);
  if (!String(code).startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(
    `${message}\nnpm run prove -- --seed 1 [--rounds 1000000] [--seconds 600] [--only simulator] [--store postgres] [--door express]`,
  );
  return 2;
}

/** A worker: runs the pieces it is given. */
async function serve() {
  const proof = await load(process.argv[2] ?? '');
  process.on('message', (/** @type {Piece} */ piece) => {
    void proof
      .run({ ...piece, log: (line) => void process.send?.({ log: line }) })
      .then((result) => process.send?.({ result }));
  });
  process.send?.({ log: '' });
}

/** @param {string[]} args */
async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: '1' },
      rounds: { type: 'string' },
      histories: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      store: { type: 'string', multiple: true, default: [] },
      door: { type: 'string', multiple: true, default: [] },
    },
  });
  const named = [...values.only.flatMap((names) => names.split(',')), ...positionals];
  const wanted = [...values.store, ...values.door].flatMap((names) => names.split(','));
  const all = await jobs();
  const fits = (/** @type {Job} */ job) =>
    (named.length === 0 || named.includes(job.name) || named.includes(job.proof)) &&
    (wanted.length === 0 || wanted.includes(job.store ?? job.door ?? ''));
  const known = new Set(all.flatMap(({ name, proof }) => [name, proof]));
  const unknown = named.filter((name) => !known.has(name));
  if (unknown.length > 0 || !all.some(fits)) {
    const names = all.map(({ name }) => name).join(', ');
    console.error(`There is no proof ${[...unknown, ...wanted].join(', ')}: there are ${names}.`);
    return 2;
  }
  const asked = {
    seed: wholeNumber('seed', values.seed) ?? 1,
    ...defined('rounds', wholeNumber('rounds', values.rounds ?? values.histories)),
    ...defined('seconds', wholeNumber('seconds', values.seconds)),
  };
  await bundlePrograms();
  let failed = 0;
  for (const job of all.filter(fits)) {
    if (job.store !== undefined && !(await isAvailable(job.store))) {
      console.log(`${job.name}: SKIPPED, this machine has not what it needs`);
      continue;
    }
    const startedAt = performance.now();
    const { rounds, failures } = await prove(job, asked);
    failed += failures.length;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(
      `${job.name}: ${rounds} rounds from seed ${asked.seed} in ${seconds} s, ${failures.length} failures`,
    );
  }
  console.log(failed === 0 ? 'PROVEN so far: no failure.' : `FAILED: ${failed} failures.`);
  return failed === 0 ? 0 : 1;
}

/** @returns {Promise<Job[]>} */
async function jobs() {
  const loaded = await Promise.all(PROOFS.map(load));
  return loaded.flatMap(({ stores, doors }, i) => {
    const proof = PROOFS[i] ?? '';
    const overDoors = doors?.map((door) => ({ name: `${proof}:${door}`, proof, door }));
    const overStores = stores?.map((store) => ({ name: `${proof}:${store}`, proof, store }));
    return overDoors ?? overStores ?? [{ name: proof, proof }];
  });
}

/** @param {Job} job @param {Piece} asked @returns {Promise<Result>} */
async function prove(job, asked) {
  const { piece, rounds: own } = await load(job.proof);
  const over = { ...defined('store', job.store), ...defined('door', job.door) };
  if (piece === undefined) return inProcess(job, [{ ...asked, ...over }], asked);
  const most = asked.rounds ?? own ?? piece;
  const pieces = Array.from({ length: Math.ceil(most / piece) }, (_, i) => ({
    seed: asked.seed + i * piece,
    rounds: Math.min(piece, most - i * piece),
    ...over,
  }));
  return inProcess(job, pieces, asked);
}

/**
 * Gives pieces to as many processes as there are cores. A process that dies fails its piece.
 * @param {Job} job @param {Piece[]} pieces @param {Piece} asked @returns {Promise<Result>}
 */
async function inProcess({ name, proof }, pieces, { seconds = Number.POSITIVE_INFINITY }) {
  const startedAt = performance.now();
  /** @type {Result} */
  const sum = { rounds: 0, failures: [] };
  const left = pieces.toReversed();
  const spent = () => (performance.now() - startedAt) / 1000;
  const progress = setInterval(() => {
    console.log(`${name}: ${sum.rounds} rounds, ${sum.failures.length} failures, ${spent().toFixed(0)} s`);
  }, PROGRESS_MS);
  const lane = async () => {
    // A young generation that holds what a piece of work makes is collected seldom.
    const worker = fork(self, [proof], { execArgv: ['--max-semi-space-size=64'] });
    const dead = new Promise((_, reject) => {
      worker.once('exit', (code, signal) => reject(new Error(`its process ended with ${code ?? signal}`)));
    });
    dead.catch(() => undefined);
    try {
      for (let piece = left.pop(); piece !== undefined && spent() < seconds; piece = left.pop()) {
        try {
          const rest = Number.isFinite(seconds) ? { seconds: Math.max(1, seconds - spent()) } : {};
          const result = await Promise.race([ask(worker, { ...piece, ...rest }), dead]);
          sum.rounds += result.rounds;
          sum.failures.push(...result.failures);
        } catch (error) {
          console.log(`FAILED ${name} from seed ${piece.seed}: ${String(error)}`);
          sum.failures.push(`from seed ${piece.seed}: ${String(error)}`);
          return;
        }
      }
    } finally {
      worker.removeAllListeners('exit');
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), pieces.length) }, lane));
  clearInterval(progress);
  return sum;
}

/**
 * @param {import('node:child_process').ChildProcess} worker @param {Piece} piece @returns {Promise<Result>}
 */
function ask(worker, piece) {
  return new Promise((resolve) => {
    const listen = (/** @type {Message} */ message) => {
      if ('log' in message) {
        if (message.log !== '') console.log(message.log);
        return;
      }
      worker.off('message', listen);
      resolve(message.result);
    };
    worker.on('message', listen);
    worker.send(piece);
  });
}

/** @param {string} name @param {string | undefined} text */
function wholeNumber(name, text) {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll('_', ''));
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name} is a whole number; it is "${text}".`);
  return value;
}

/** @template Value @param {string} name @param {Value | undefined} value @returns {Record<string, Value>} */
function defined(name, value) {
  return value === undefined ? {} : { [name]: value };
}
