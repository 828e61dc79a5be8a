// @ts-nocheck -- its package is installed in this folder only
/** pg-boss in batches of 500, fetching at once after a full one, woken by NOTIFY. */
import { Client } from 'pg';
import { PgBoss } from 'pg-boss';

const BATCH = 500;

async function boss(url, options) {
  const made = new PgBoss({ connectionString: url, supervise: false, schedule: false, ...options });
  made.on('error', (error) => console.error(error));
  await made.start();
  return made;
}

export async function prepare(url, count) {
  const made = await boss(url, {});
  await made.createQueue('bench', { notify: true }).catch(() => undefined);
  await made.deleteAllJobs('bench');
  for (let at = 0; at < count; at += 1_000) {
    await made.insert(
      'bench',
      Array.from({ length: Math.min(1_000, count - at) }, (_, i) => ({ data: { n: at + i } })),
    );
  }
  await made.stop({ graceful: false });
}

export async function start(url, onJob) {
  const made = await boss(url, { useListenNotify: true });
  await made.work(
    'bench',
    { batchSize: BATCH, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 2 },
    async (jobs) => {
      for (const { data } of jobs) await onJob(data);
    },
  );
  return () => made.stop({ graceful: true, timeout: 5_000 });
}

export async function sender(url) {
  const made = await boss(url, {});
  const client = new Client(url);
  await client.connect();
  const db = {
    executeSql: (text, values) => client.query(text, values),
  };
  return {
    async send(payload) {
      await client.query('BEGIN');
      await made.send('bench', payload, { db });
      await client.query('COMMIT');
    },
    async close() {
      await client.end();
      await made.stop({ graceful: false });
    },
  };
}

export const left = `SELECT count(*) FROM pgboss.job WHERE name = 'bench' AND state <> 'completed'`;
