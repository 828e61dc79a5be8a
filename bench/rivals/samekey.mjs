/** Samekey's worker, as bench/outbox.mjs runs it. */
import { Pool } from 'pg';
import { createOutbox } from 'samekey/outbox';
import { postgresStore } from 'samekey/stores/postgres';
import { createWorker } from 'samekey/worker';

/**
 * @param {string} url
 * @param {number} count
 */
export async function prepare(url, count) {
  const pool = new Pool({ connectionString: url });
  const store = postgresStore({ service: 'test', pool });
  await store.migrate();
  await pool.query('TRUNCATE samekey_messages');
  const outbox = createOutbox({ store });
  const client = await pool.connect();
  await client.query('BEGIN');
  for (let at = 0; at < count; at += 1_000) {
    const messages = Array.from({ length: Math.min(1_000, count - at) }, (_, i) => ({
      topic: 'bench',
      payload: { n: at + i },
    }));
    await outbox.enqueueAll(client, messages);
  }
  await client.query('COMMIT');
  client.release();
  await store.close();
  await pool.end();
}

/**
 * @param {string} url
 * @param {(payload: object) => void} onJob
 */
export async function start(url, onJob) {
  const pool = new Pool({ connectionString: url });
  const store = postgresStore({ service: 'test', pool });
  const worker = createWorker({
    store,
    concurrency: 500,
    handlers: { bench: ({ payload }) => onJob(payload) },
    onEvent: (event) => {
      if (event.type !== 'delivered' && event.type !== 'swept-record' && event.type !== 'janitor-run')
        console.error(event);
    },
  });
  worker.start();
  await worker.ready();
  return async () => {
    await worker.stop();
    await store.close();
    await pool.end();
  };
}

/** @param {string} url */
export async function sender(url) {
  const pool = new Pool({ connectionString: url });
  const store = postgresStore({ service: 'test', pool });
  const outbox = createOutbox({ store });
  const client = await pool.connect();
  return {
    /** @param {object} payload */
    async send(payload) {
      await client.query('BEGIN');
      await outbox.enqueue(client, { topic: 'bench', payload });
      await client.query('COMMIT');
    },
    async close() {
      client.release();
      await store.close();
      await pool.end();
    },
  };
}

export const left = 'SELECT count(*) FROM samekey_messages';
