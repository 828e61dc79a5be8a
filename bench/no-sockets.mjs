/**
 * What a protected request costs in the process when no kernel, database or client takes part: node:http on streams in memory,
 * the memory store, 1 KB of JSON with a new key each. Prints µs of CPU per request. Small changes show here that drown
 * elsewhere in the load of the machine: compare the least, which other work disturbs last. `--also` takes the folder of another
 * checkout that is built, and measures it in turns with this one.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import express from 'express';
import { BODY } from './body.mjs';
import { inMemory } from './in-memory.mjs';
import { median } from './table.mjs';

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '64' },
    framework: { type: 'string', default: 'node' },
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '20' },
    also: { type: 'string' },
    /** Measures one contender's module and prints its rounds as JSON. */
    one: { type: 'string' },
  },
});
const REQUESTS = 2_000;
/** Until the compiler has seen everything. */
const WARM_UP = 6;

/** The rounds of one contender, in µs per request. @param {string} module */
async function measure(module) {
  /** @type {{ open: import('./contract.d.ts').OpenContender }} */
  const { open } = await import(module);
  const contender = await open({
    url: '',
    store: 'memory',
    workload: 'new-keys',
    cache: true,
    order(_key, body) {
      const { amountCents, items } = /** @type {{ amountCents: number, items: unknown[] }} */ (body);
      return { id: 'ord_1', amountCents, items: items.length };
    },
  });
  let listener = contender.node;
  if (values.framework === 'express') {
    const app = express();
    app.post('/orders', ...contender.express(express));
    listener = app;
  }
  const load = { requests: REQUESTS, connections: Number(values.connections) };
  const send = inMemory(listener, BODY, load);
  /** @type {number[]} */
  const seen = [];
  for (let round = -WARM_UP; round < Number(values.rounds); round++) {
    const before = process.cpuUsage();
    await send();
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) seen.push((user + system) / REQUESTS);
  }
  return seen;
}

if (values.one !== undefined) {
  process.stdout.write(JSON.stringify(await measure(values.one)), () => process.exit(0));
} else {
  const here = new URL('contenders/', import.meta.url);
  /** @type {Map<string, { module: string, rounds: number[] }>} */
  const contenders = new Map();
  for (const name of ['bare', 'samekey'])
    contenders.set(name, { module: new URL(`${name}.mjs`, here).href, rounds: [] });
  if (values.also !== undefined) {
    const there = pathToFileURL(`${values.also}/bench/contenders/samekey.mjs`).href;
    contenders.set(values.also, { module: there, rounds: [] });
  }
  const same = [
    '--connections',
    values.connections,
    '--framework',
    values.framework,
    '--rounds',
    values.rounds,
  ];
  for (let i = 0; i < Number(values.processes); i++) {
    for (const { module, rounds } of contenders.values()) {
      const own = [fileURLToPath(import.meta.url), ...same, '--one', module];
      const env = { ...process.env, NODE_ENV: 'production' };
      rounds.push(...JSON.parse(execFileSync(process.execPath, own, { env, encoding: 'utf8' })));
    }
  }
  for (const [name, { rounds }] of contenders) {
    const least = Math.min(...rounds).toFixed(1);
    console.log(
      `${name.padEnd(24)} least ${least.padStart(6)}  median ${median(rounds).toFixed(1).padStart(6)}`,
    );
  }
}
