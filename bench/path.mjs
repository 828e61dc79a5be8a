/**
 * How long the path of one new key is, counted and not timed: one warm POST on Express with the memory store, its client in
 * a process of its own. Source files and named functions of ours that ran (V8's precise coverage of what `npm run build`
 * makes, which is not bundled), promises made in the process (`async_hooks`), and kilobytes allocated per key above the
 * bare route (over 2,000 keys, while nothing is collected).
 *
 *   node bench/path.mjs            prints it
 *   node bench/path.mjs --files    and which files, with how many functions of each
 *   node bench/path.mjs --check    fails where it is longer than `path-budget.json`
 */
import { createHook } from 'node:async_hooks';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import express from 'express';
import { BODY } from './body.mjs';
import { open as openBare } from './contenders/bare.mjs';
import { open as openSamekey } from './contenders/samekey.mjs';
import { median } from './table.mjs';

const self = fileURLToPath(import.meta.url);
const OURS = new URL('../packages/samekey/dist/', import.meta.url).href;
const WARM_KEYS = 500;
const KEYS = 2_000;
const ROUNDS = 5;
const COUNTED = 21;
/** Nothing is collected before so much was made, in megabytes: more than all keys together make. */
const NURSERY = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512'];

const { values } = parseArgs({
  options: {
    files: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    role: { type: 'string' },
  },
});
if (values.role === 'client') beClient();
else if (values.role === 'server') process.exitCode = await measure();
else {
  const server = fork(self, [...process.argv.slice(2), '--role', 'server'], { execArgv: NURSERY });
  const [code] = await once(server, 'exit');
  process.exitCode = code ?? 1;
}

/** Sends as many requests as it is told, one after the other, each with a new key. */
function beClient() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let sent = 0;
  /** @param {number} port @param {string} path @returns {Promise<number | undefined>} */
  const ask = (port, path) =>
    new Promise((resolve, reject) => {
      sent += 1;
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': BODY.length,
        'Idempotency-Key': `"key-${sent}-of-the-path"`,
      };
      request({ port, path, agent, method: 'POST', headers }, (res) =>
        res.resume().on('end', () => resolve(res.statusCode)),
      )
        .on('error', reject)
        .end(BODY);
    });
  /** @param {{ port: number, path: string, count: number }} order */
  async function obey({ port, path, count }) {
    for (let left = count; left > 0; left -= 1) {
      const status = await ask(port, path);
      if (status !== 201) throw new Error(`${path} answered ${status}.`);
    }
    process.send?.('done');
  }
  process.on('message', (order) => void obey(/** @type {any} */ (order)));
}

async function measure() {
  const client = fork(self, ['--role', 'client'], { execArgv: [] });
  const options = {
    url: '',
    store: 'memory',
    workload: /** @type {const} */ ('new-keys'),
    cache: true,
    order: (/** @type {string} */ _key, /** @type {any} */ body) => ({
      id: 'ord_1',
      amountCents: body.amountCents,
    }),
  };
  const [bare, ours] = [await openBare(options), await openSamekey(options)];
  const app = express();
  app.post('/bare', ...bare.express(express));
  app.post('/ours', ...ours.express(express));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  /** @param {string} path @param {number} count */
  async function send(path, count) {
    client.send({ port, path, count });
    await once(client, 'message');
  }
  for (const path of ['/bare', '/ours']) await send(path, WARM_KEYS);

  const ran = await functionsOf(() => send('/ours', 1));
  const promises = [];
  for (let i = 0; i < COUNTED; i += 1) promises.push(await promisesOf(() => send('/ours', 1)));
  // A collection that comes all the same makes a round look cheap, never dear.
  const bytes = { bare: /** @type {number[]} */ ([]), ours: /** @type {number[]} */ ([]) };
  for (let round = 0; round < ROUNDS; round += 1) {
    bytes.bare.push(await bytesOf(() => send('/bare', KEYS / ROUNDS)));
    bytes.ours.push(await bytesOf(() => send('/ours', KEYS / ROUNDS)));
  }
  const idle = await promisesOf(() => send('/bare', 1));

  const found = {
    files: ran.size,
    functions: [...ran.values()].reduce((sum, count) => sum + count, 0),
    promises: median(promises) - idle,
    garbageKilobytes: Math.round((median(bytes.ours) - median(bytes.bare)) / (KEYS / ROUNDS) / 1_024),
  };
  client.kill();
  server.closeAllConnections();
  server.close();
  await ours.close();
  return tell(found, ran);
}

/** @param {Record<string, number>} found @param {ReadonlyMap<string, number>} ran */
function tell(found, ran) {
  if (values.files) for (const [file, count] of ran) console.log(String(count).padStart(5), file);
  /** @type {Record<string, number>} */
  const budget = JSON.parse(readFileSync(new URL('path-budget.json', import.meta.url), 'utf8'));
  const over = Object.entries(found).filter(([name, count]) => count > (budget[name] ?? 0));
  for (const [name, count] of Object.entries(found)) console.log(`${name}: ${count} of ${budget[name]}`);
  if (!values.check) return 0;
  for (const [name, count] of over)
    console.error(
      `The path of a new key has ${count} ${name}, more than its budget: shorten it, or say in the commit why not.`,
    );
  console.log(over.length === 0 ? 'path: holds' : `path: ${over.length} problem(s)`);
  return over.length === 0 ? 0 : 1;
}

/** How many named functions of each of our files run. @param {() => Promise<void>} work */
async function functionsOf(work) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  /** @type {Map<string, number>} */
  const ran = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith(OURS)) continue;
    const named = functions.filter(
      ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
    );
    if (named.length > 0) ran.set(url.slice(OURS.length), named.length);
  }
  return ran;
}

/** @param {() => Promise<void>} work */
async function promisesOf(work) {
  let made = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') made += 1;
    },
  }).enable();
  await work();
  hook.disable();
  return made;
}

/** @param {() => Promise<void>} work */
async function bytesOf(work) {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await work();
  return process.memoryUsage().heapUsed - before;
}
