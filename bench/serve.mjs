/**
 * The process of one contender's server. It counts what its handler did; its parent asks for the counts, tells it to forget
 * them, and stops it.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';

const { module, framework, ...options } = JSON.parse(process.argv[2] ?? '{}');
/** How often each key ran. @type {Map<string, number>} */
const runs = new Map();

/** @type {{ open: import('./contract.d.ts').OpenContender }} */
const { open } = await import(String(module));
const contender = await open({
  ...options,
  order(key, body) {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    const { amountCents, items } = /** @type {{ amountCents: number, items: unknown[] }} */ (body);
    return { id: 'ord_1', amountCents, items: items.length };
  },
});

let listener = contender.node;
if (framework === 'express') {
  const app = express();
  app.post('/orders', ...contender.express(express));
  listener = app;
}
if (framework === 'hono') {
  const app = new Hono();
  for (const handler of contender.hono ?? []) app.post('/orders', handler);
  const listen = getRequestListener(app.fetch);
  listener = (req, res) => void listen(req, res);
}
const server = createServer((req, res) => void listener(req, res)).listen(0, '127.0.0.1');
await once(server, 'listening');

async function stop() {
  server.closeAllConnections();
  await contender.close();
  process.exit(0);
}

process.on('message', (message) => {
  if (message === 'counts') {
    const twice = [...runs.values()].filter((count) => count > 1).length;
    process.send?.({ keys: runs.size, twice });
    runs.clear();
  }
  if (message === 'stop') void stop();
});
process.send?.({ port: /** @type {import('node:net').AddressInfo} */ (server.address()).port });
