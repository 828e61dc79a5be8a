/** Redis or Valkey, with an append-only file that is not rewritten meanwhile: a rewrite falls on whichever contender is running. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cpuUs, pidOf } from '../machine.mjs';
import { service } from './services.mjs';

const run = promisify(execFile);

/** @type {import('../contract.d.ts').StartEngine} */
export async function start({ appendfsync }) {
  const { isRedisHere, startRedis } = await service('redis');
  if (!isRedisHere()) throw new Error('There is no redis-server here.');
  const server = await startRedis({ appendfsync, 'auto-aof-rewrite-percentage': '0' });
  const pid = pidOf(`127.0.0.1:${server.port}`);
  let perRun = 200_000;
  return {
    url: server.url,
    describe: `Redis: appendonly=yes appendfsync=${appendfsync}`,
    cpuUs: () => cpuUs(pid),
    stop: () => server.stop(),
    clients: ['ioredis', 'node-redis'],
    raw: {
      name: 'redis-benchmark, SET twice',
      async run({ connections, seconds }) {
        const sized = ['-c', String(connections), '-n', String(perRun), '-r', '100000000', '-d', '44'];
        const { stdout } = await run('redis-benchmark', [
          '-p',
          String(server.port),
          '-t',
          'set',
          ...sized,
          '--csv',
        ]);
        const perSecond = Number(/"SET","([\d.]+)"/.exec(stdout)?.[1]);
        // The next round takes as long as the others.
        perRun = Math.max(1_000, Math.round(perSecond * seconds));
        return perSecond / 2;
      },
    },
  };
}
