/**
 * What protection costs in the process, beside the bare framework, in one run: µs of CPU per request of 1 KB JSON with a
 * new key each, with the memory store. Rounds alternate (bare, protected, bare, protected …), so that a machine that gets
 * slower or faster meanwhile changes both. See README.md.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { run } from './load.mjs';
import { median, row } from './table.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    requests: { type: 'string', default: '3000' },
    connections: { type: 'string', default: '16' },
    /** Writes a CPU profile of the server (protected route only) into this folder. */
    profile: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const requests = Number(values.requests);
const connections = Number(values.connections);
const AIM_US = 40;
/** Until the compiler has seen everything. */
const WARM_UP = 3;

const here = fileURLToPath(new URL('.', import.meta.url));
const env = { ...process.env, NODE_ENV: 'production' };
const profiling =
  values.profile === undefined
    ? []
    : ['--cpu-prof', '--cpu-prof-interval', '200', `--cpu-prof-dir=${values.profile}`];

const server = fork(join(here, 'server.mjs'), [], { env, execArgv: ['--expose-gc', ...profiling] });
const [{ port }] = await once(server, 'message');

/**
 * @param {string} message
 * @returns {Promise<NodeJS.CpuUsage>}
 */
async function ask(message) {
  const answer = once(server, 'message');
  server.send(message);
  const [usage] = await answer;
  return usage;
}

/**
 * @param {string} path
 * @param {string} [key]
 */
async function measure(path, key) {
  const before = await ask(key === undefined ? 'fresh' : 'cpu');
  const ms = await run({ port, path, requests, connections, ...(key === undefined ? {} : { key }) });
  const after = await ask('cpu');
  const us = after.user + after.system - before.user - before.system;
  return { cpuUs: us / requests, perSecond: requests / (ms / 1000) };
}

/** @type {{ bare: number[], guarded: number[], replayed: number[], difference: number[], replaysPerSecond: number[] }} */
const seen = { bare: [], guarded: [], replayed: [], difference: [], replaysPerSecond: [] };
for (let round = -WARM_UP; round < rounds; round++) {
  const bare = profiling.length > 0 ? { cpuUs: 0 } : await measure('/bare');
  const guarded = await measure('/protected');
  if (profiling.length > 0) continue;
  const key = `replay-${round}`;
  await run({ port, path: '/protected', requests: 1, connections: 1, key });
  const replay = await measure('/protected', key);
  if (round < 0) continue;
  seen.bare.push(bare.cpuUs);
  seen.guarded.push(guarded.cpuUs);
  seen.replayed.push(replay.cpuUs);
  seen.difference.push(guarded.cpuUs - bare.cpuUs);
  seen.replaysPerSecond.push(replay.perSecond);
}
server.send('stop');
await once(server, 'exit');
if (profiling.length > 0) process.exit(0);

const direct = JSON.parse(
  execFileSync(
    process.execPath,
    ['--expose-gc', join(here, 'direct.mjs'), String(rounds), String(requests)],
    {
      env,
      encoding: 'utf8',
    },
  ),
);

console.log(`node ${process.version}, ${rounds} rounds of ${requests} requests, ${connections} connections`);
console.log(row('µs CPU per request', ['median', 'least', 'most']));
console.log(row('express, bare', seen.bare));
console.log(row('express, protected', seen.guarded));
console.log(row('  protected − bare', seen.difference));
console.log(row('express, replay', seen.replayed));
console.log(row('fetch, bare', direct.bare));
console.log(row('fetch, protected', direct.protected));
/** @type {number[]} */
const bareCalls = direct.bare;
console.log(
  row(
    '  protected − bare',
    bareCalls.map((us, i) => direct.protected[i] - us),
  ),
);
console.log(row('replays per second', seen.replaysPerSecond));
const difference = median(seen.difference);
console.log(`aim: protected − bare ≤ ${AIM_US} µs: ${difference <= AIM_US ? 'held' : 'missed'}`);
