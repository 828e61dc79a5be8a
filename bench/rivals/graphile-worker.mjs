// @ts-nocheck -- its package is installed in this folder only
/** graphile-worker with its local queue and batched completion, the settings its own performance tests use. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { Client } from 'pg';

const logger = new Logger(() => () => undefined);

export async function prepare(url, count) {
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  await utils.release();
  const client = new Client(url);
  await client.connect();
  await client.query('DELETE FROM graphile_worker._private_jobs');
  await client.query(
    `SELECT count(*) FROM generate_series(1, $1::int) AS i, LATERAL graphile_worker.add_job('bench', json_build_object('n', i))`,
    [count],
  );
  await client.end();
}

export async function start(url, onJob) {
  const runner = await run({
    connectionString: url,
    noHandleSignals: true,
    logger,
    taskList: { bench: (payload) => onJob(payload) },
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: 100,
        maxPoolSize: 10,
        pollInterval: 1_000,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  return () => runner.stop();
}

export async function sender(url) {
  const client = new Client(url);
  await client.connect();
  return {
    async send(payload) {
      await client.query('BEGIN');
      await client.query(`SELECT graphile_worker.add_job('bench', $1)`, [JSON.stringify(payload)]);
      await client.query('COMMIT');
    },
    close: () => client.end(),
  };
}

export const left = 'SELECT count(*) FROM graphile_worker._private_jobs';
