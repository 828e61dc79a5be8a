/**
 * What a cache in front of PostgreSQL brings for keys that are retried all the time, and what it costs new ones: servers of one process
 * without memory of their own, beside the same without the cache, in turns. See README.md.
 */
import { parseArgs } from 'node:util';
import { startDatabase } from './database.mjs';
import { service } from './engines/services.mjs';
import { cpuUs, machine, pidOf } from './machine.mjs';
import { overHttp } from './over-http.mjs';
import { median } from './table.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '64' },
    'commit-ms': { type: 'string', default: '0' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const COLUMNS = [
  'requests/s',
  '(range)',
  'ratio',
  'p50 ms',
  'p99 ms',
  'server µs',
  'PostgreSQL µs',
  'Redis µs',
];

const database = await startDatabase(Number(values['commit-ms']));
const redis = await (await service('redis')).startRedis({ appendonly: 'no' });
const redisPid = pidOf(`127.0.0.1:${redis.port}`);
const CONTENDERS = {
  PostgreSQL: '',
  'behind Redis': `#cache=${redis.url}`,
  'always asked': `#cache=${redis.url}&share=0`,
  'and in memory': `#cache=${redis.url}&memory=33554432`,
};

console.log(`${machine()}\n${database.describe}`);
/** @type {string[]} */
const faults = [];
try {
  for (const workload of /** @type {const} */ (['replays', 'new-keys'])) await compare(workload);
} finally {
  await redis.stop();
  await database.stop();
}
console.log(
  faults.length === 0 ? '\nEvery key ran once; no answer was another than 201.' : faults.join('\n'),
);
process.exitCode = faults.length === 0 ? 0 : 1;

/** @param {import('./contract.d.ts').Workload} workload */
async function compare(workload) {
  /** @type {import('./contract.d.ts').Contender[]} */
  const contenders = [];
  for (const [name, fragment] of Object.entries(CONTENDERS)) {
    const url = `${database.url}${fragment}`;
    const module = new URL('contenders/samekey.mjs', import.meta.url).href;
    const options = { name, module, workload, store: 'tiered', framework: 'node', cache: false };
    contenders.push(await overHttp(options, { url, cpuUs: database.cpuUs }));
  }
  /** @type {(import('./contract.d.ts').Measured & { redisUs: number })[][]} */
  const measured = contenders.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [i, contender] of contenders.entries()) {
      const before = cpuUs(redisPid);
      const result = await contender.measure({ connections, seconds });
      // Its warm-up counts too: about right.
      const redisUs = (cpuUs(redisPid) - before) / (result.perSecond * (seconds + 1));
      measured[i]?.push({ ...result, redisUs });
      faults.push(...result.faults.map((fault) => `${workload}, ${contender.name}: ${fault}`));
    }
  }
  for (const contender of contenders) await contender.stop();
  console.log(`\n${workload}, ${connections} connections, ${rounds} rounds of ${seconds} s`);
  const basis = measured[0]?.map(({ perSecond }) => perSecond) ?? [];
  const rows = measured.map((all, i) => {
    const of = (
      /** @type {'perSecond' | 'p50Ms' | 'p99Ms' | 'serverUs' | 'databaseUs' | 'redisUs'} */ field,
    ) => all.map((each) => each[field]);
    const rates = of('perSecond');
    return [
      contenders[i]?.name ?? '',
      median(rates).toFixed(0),
      `(${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)})`,
      median(rates.map((rate, n) => rate / (basis[n] ?? Number.NaN))).toFixed(2),
      median(of('p50Ms')).toFixed(2),
      median(of('p99Ms')).toFixed(1),
      .../** @type {const} */ (['serverUs', 'databaseUs', 'redisUs']).map((field) =>
        median(of(field)).toFixed(0),
      ),
    ];
  });
  for (const [name = '', ...cells] of [['', ...COLUMNS], ...rows])
    console.log(name.padEnd(16) + cells.map((cell) => cell.padStart(15)).join(''));
}
