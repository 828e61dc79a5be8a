/**
 * The outbox's worker against pg-boss and graphile-worker on one PostgreSQL: how long 20,000 messages that do nothing take, and
 * how long a message waits from its commit to its handler when there is little to do. In turns, each in a process of its own.
 *
 *   npm install --prefix bench/rivals && npm run build
 *   npx -y -p node@24 node bench/outbox.mjs [--rounds 5] [--messages 20000] [--only samekey;pg-boss] [--profile folder]
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startDatabase } from './database.mjs';
import { median, percentile } from './table.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '20000' },
    light: { type: 'string', default: '300' },
    only: { type: 'string', default: 'samekey;graphile-worker;pg-boss' },
    profile: { type: 'string' },
  },
});
const names = options.only.split(';');
const count = Number(options.messages);
const light = Number(options.light);
/** Between two messages of the light load, in milliseconds. */
const PAUSE_MS = 20;

/**
 * @typedef {{ drainMs: number, cpuMs: number, serverMs: number, delays: number[] }} Round
 * @typedef {object} Contender
 * @property {(url: string, count: number) => Promise<void>} prepare
 * @property {(url: string) => Promise<{ send(payload: object): Promise<void>, close(): Promise<void> }>} sender
 * @property {string} left
 */

const database = await startDatabase();
console.log(`${database.describe}\nnode ${process.version}, ${count} messages, ${options.rounds} rounds\n`);
/** @type {Map<string, Round[]>} */
const rounds = new Map(names.map((name) => [name, []]));
try {
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // Whoever came first comes last.
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) rounds.get(name)?.push(await measure(name));
  }
  print();
} finally {
  await database.stop();
}

/**
 * @param {string} name
 * @returns {Promise<Round>}
 */
async function measure(name) {
  const url = database.url;
  /** @type {Contender} */
  const contender = await import(`./rivals/${name}.mjs`);
  await contender.prepare(url, count);
  await query('VACUUM ANALYZE; CHECKPOINT');
  const serverFrom = database.cpuUs();
  const child = fork(
    fileURLToPath(new URL('./outbox-process.mjs', import.meta.url)),
    [name, url, String(count)],
    {
      execArgv: options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`],
    },
  );
  /** @type {{ drainMs: number, cpuMs: number }} */
  const drained = await told(child);
  for (let i = 0; i < 100; i += 1) {
    if ((await query(contender.left)) === '0') break;
    await pause(100);
    if (i === 99) throw new Error(`${name} left messages behind.`);
  }
  const serverMs = (database.cpuUs() - serverFrom) / 1_000;
  const sender = await contender.sender(url);
  for (let i = 0; i < light; i += 1) {
    await sender.send({ sentAt: performance.timeOrigin + performance.now() });
    await pause(PAUSE_MS * (0.5 + Math.random()));
  }
  await sender.close();
  child.send(light);
  /** @type {{ delays: number[] }} */
  const { delays } = await told(child);
  child.send('stop');
  await new Promise((resolve) => void child.once('exit', resolve));
  return { ...drained, serverMs, delays };
}

/** @param {import('node:child_process').ChildProcess} child */
function told(child) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`The worker's process ended with ${code}.`)));
  });
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** @param {string} text */
async function query(text) {
  const client = new Client(database.url);
  await client.connect();
  let first;
  for (const each of text.split(';')) first = (await client.query(each)).rows?.[0]?.count;
  await client.end();
  return first;
}

/** @param {string} name */
function rates(name) {
  return (rounds.get(name) ?? []).map(({ drainMs }) => (count / drainMs) * 1_000);
}

function print() {
  console.log(
    ['', 'messages/s', '(range)', 'worker µs', 'server µs', 'start p50', 'start p99 ms']
      .map((cell) => cell.padStart(16))
      .join(''),
  );
  for (const name of names) {
    const all = rounds.get(name) ?? [];
    const delays = all.flatMap((round) => round.delays).toSorted((a, b) => a - b);
    const cells = [
      name,
      median(rates(name)).toFixed(0),
      `${Math.min(...rates(name)).toFixed(0)}–${Math.max(...rates(name)).toFixed(0)}`,
      ((median(all.map(({ cpuMs }) => cpuMs)) / count) * 1_000).toFixed(0),
      ((median(all.map(({ serverMs }) => serverMs)) / count) * 1_000).toFixed(0),
      percentile(delays, 0.5).toFixed(1),
      percentile(delays, 0.99).toFixed(1),
    ];
    console.log(cells.map((cell) => cell.padStart(16)).join(''));
  }
  if (!names.includes('samekey')) return;
  for (const name of names.filter((other) => other !== 'samekey')) {
    const [ours, theirs] = [rates('samekey'), rates(name)];
    const ratios = ours.map((rate, i) => rate / (theirs[i] ?? rate));
    console.log(
      `samekey / ${name}: ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
    );
  }
}
