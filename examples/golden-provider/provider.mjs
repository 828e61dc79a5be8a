// @ts-check
// A payment provider and a mail service to try the golden examples with, in memory. It keeps keys as real ones do, and can be told to fail as real ones do:
// the word that is sent to POST /next-fault is what happens to the next charge.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {{ id: string, reference: string, amountCents: number }} Charge */

/** @type {Map<string, Charge>} */
const byKey = new Map();
/** @type {Charge[]} */
const charges = [];
/** @type {Map<string, unknown>} by their keys, too */
const receipts = new Map();
let nextFault = '';

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function handle(request, response) {
  let text = '';
  for await (const chunk of request) text += chunk;
  /** @param {number} status @param {unknown} value */
  const answer = (status, value) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };

  if (request.url === '/next-fault') {
    nextFault = text;
    answer(200, {});
  } else if (request.method === 'POST' && request.url === '/charges') {
    const fault = nextFault;
    nextFault = '';
    if (fault === 'fails-first') {
      answer(500, {});
      return;
    }
    const key = String(request.headers['idempotency-key']);
    const charge = byKey.get(key) ?? { id: `ch_${randomUUID()}`, ...JSON.parse(text) };
    if (!byKey.has(key)) charges.push(charge);
    byKey.set(key, charge);
    if (fault === 'answers-late') await pause(4_000);
    if (fault === 'loses-reply') response.destroy();
    else if (fault === 'fails-after-charging') answer(500, {});
    else answer(201, charge);
  } else if (request.method === 'GET' && request.url === '/charges') {
    answer(200, charges);
  } else if (request.method === 'POST' && request.url === '/receipts') {
    receipts.set(String(request.headers['idempotency-key']), JSON.parse(text));
    answer(201, {});
  } else if (request.method === 'GET' && request.url === '/receipts') {
    answer(200, [...receipts.values()]);
  } else {
    answer(404, {});
  }
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});

server.listen(Number(process.env['PORT'] ?? 4100), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`);
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
