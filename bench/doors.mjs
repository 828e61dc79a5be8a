/**
 * What each door costs above its bare framework: µs of CPU per request, all doors in one run, in turns. A new key each, 1 KB of JSON,
 * the memory store; HTTP on streams in memory, so that no kernel takes part. The least of all rounds counts, which other work on the
 * machine disturbs last. The aim: no door above 1.3 times Express's.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createSamekey } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { BODY } from './body.mjs';
import { DOORS } from './door-servers.mjs';
import { inMemory, nextKey } from './in-memory.mjs';
import { median } from './table.mjs';

const { values } = parseArgs({
  options: {
    door: { type: 'string', multiple: true, default: [] },
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '12' },
    /** Measures one door, bare or protected, and prints its rounds as JSON. */
    one: { type: 'string' },
    bare: { type: 'boolean', default: false },
  },
});
const REQUESTS = 1_500;
const CONNECTIONS = 16;
/** Until the compiler has seen everything. */
const WARM_UP = 5;
const LOAD = { requests: REQUESTS, connections: CONNECTIONS };
const AIM = 1.3;

/** The same of a door that is called. @param {(key: string) => Promise<unknown>} call */
function byCalls(call) {
  return async () => {
    const lane = async () => {
      for (let i = 0; i < REQUESTS / CONNECTIONS; i++) await call(nextKey());
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  };
}

/** The rounds of one door, in µs per request. @param {string} name @param {boolean} isBare */
async function measure(name, isBare) {
  const open = DOORS[name];
  if (open === undefined)
    throw new Error(`There is no door ${name}: there are ${Object.keys(DOORS).join(', ')}.`);
  const opened = await open(isBare ? null : createSamekey({ store: memoryStore() }));
  const round =
    'call' in opened ? byCalls(opened.call) : inMemory(opened.listener, opened.body ?? BODY, LOAD);
  /** @type {number[]} */
  const seen = [];
  for (let i = -WARM_UP; i < Number(values.rounds); i++) {
    const before = process.cpuUsage();
    await round();
    const { user, system } = process.cpuUsage(before);
    if (i >= 0) seen.push((user + system) / REQUESTS);
  }
  return seen;
}

/** @param {string} name @param {boolean} isBare @returns {number[]} */
function measured(name, isBare) {
  const own = [
    fileURLToPath(import.meta.url),
    '--rounds',
    values.rounds,
    '--one',
    name,
    ...(isBare ? ['--bare'] : []),
  ];
  const env = { ...process.env, NODE_ENV: 'production' };
  return JSON.parse(
    execFileSync(process.execPath, own, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  );
}

function main() {
  const names =
    values.door.length === 0
      ? Object.keys(DOORS)
      : ['express', ...values.door.filter((name) => name !== 'express')];
  const rounds = new Map(
    names.map((name) => [name, { bare: /** @type {number[]} */ ([]), safe: /** @type {number[]} */ ([]) }]),
  );
  for (let i = 0; i < Number(values.processes); i++)
    for (const [name, { bare, safe }] of rounds) {
      bare.push(...measured(name, true));
      safe.push(...measured(name, false));
    }
  console.log(
    ['door'.padEnd(14), 'bare', 'protected', 'above', 'to Express', 'medians']
      .map((cell) => cell.padStart(11))
      .join(''),
  );
  let ofExpress = 0;
  for (const [name, { bare, safe }] of rounds) {
    const above = Math.min(...safe) - Math.min(...bare);
    if (name === 'express') ofExpress = above;
    const ratio = above / ofExpress;
    const cells = [Math.min(...bare), Math.min(...safe), above].map((value) => value.toFixed(1).padStart(11));
    const medians = `${median(bare).toFixed(0)} / ${median(safe).toFixed(0)}`;
    const isOver = ratio > AIM ? '  above the aim' : '';
    console.log(
      `${name.padEnd(14)}${cells.join('')}${ratio.toFixed(2).padStart(11)}${medians.padStart(11)}${isOver}`,
    );
  }
}

if (values.one === undefined) main();
else {
  const seen = JSON.stringify(await measure(values.one, values.bare));
  process.stdout.write(seen, () => process.exit(0));
}
