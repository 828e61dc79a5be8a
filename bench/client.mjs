/**
 * The client's process: keep-alive connections on bare sockets, each of which sends its next request when the last was
 * answered. It warms up, tells its parent when the measured time begins and ends, and then sends some of the keys again.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { BODY } from './body.mjs';
import { percentile } from './table.mjs';

/**
 * @typedef {object} Order
 * @property {number} port
 * @property {number} connections
 * @property {number} seconds
 * @property {number} warmSeconds
 * @property {string[] | null} keys keys to choose from in turn; null: a new one each
 * @property {boolean} again whether the last keys are sent again in the end
 */

const AGAIN = 3;

/** @param {Order} order */
async function run({ port, connections, seconds, warmSeconds, keys, again }) {
  const prefix = randomBytes(8).toString('hex');
  /** @type {Map<string, number>} */
  const statuses = new Map();
  /** @type {number[]} */
  const latencies = [];
  let sent = 0;
  const beginsAt = performance.now() + warmSeconds * 1000;
  const endsAt = beginsAt + seconds * 1000;
  const nextKey = () => {
    sent += 1;
    return keys === null ? `${prefix}-${sent}` : (keys[sent % keys.length] ?? '');
  };
  const timers = [at(beginsAt, 'begin'), at(endsAt, 'end')];
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const ask = await connection(port);
      /** @type {string[]} */
      const last = [];
      for (let startedAt = performance.now(); startedAt < endsAt; ) {
        const key = nextKey();
        const answer = await ask(key);
        const now = performance.now();
        count(answer);
        if (startedAt >= beginsAt && now <= endsAt) latencies.push(now - startedAt);
        startedAt = now;
        last.push(key);
        if (last.length > AGAIN) last.shift();
      }
      if (again) for (const key of last) count(await ask(key));
      ask.end();
    }),
  );
  await Promise.all(timers);
  latencies.sort((a, b) => a - b);
  process.send?.({
    kind: 'done',
    answered: latencies.length,
    keys: keys === null ? sent : 0,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    statuses: Object.fromEntries(statuses),
  });

  /** @param {string} status */
  function count(status) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
}

/** @param {number} time @param {string} kind */
function at(time, kind) {
  return new Promise((resolve) => {
    setTimeout(() => {
      process.send?.({ kind });
      resolve(undefined);
    }, time - performance.now());
  });
}

const HEAD = `POST /orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;

/**
 * Gives a function that sends one request and resolves with the status of its answer.
 * @param {number} port
 * @returns {Promise<((key: string) => Promise<string>) & { end: () => void }>}
 */
function connection(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    /** @type {(status: string) => void} */
    let answered = () => undefined;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('error', (error) => {
      reject(error);
      answered(error.message);
    });
    socket.on('close', () => answered('closed'));
    socket.on('data', (chunk) => {
      received += String(chunk);
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1]);
      if (received.length < headEnd + 4 + length) return;
      const status = received.slice(9, 12);
      received = '';
      answered(Number.isNaN(length) ? 'no length' : status);
    });
    socket.once('connect', () => {
      /** @param {string} key @returns {Promise<string>} */
      const ask = (key) =>
        new Promise((next) => {
          answered = next;
          if (socket.destroyed) return next('closed');
          socket.write(`${HEAD}Idempotency-Key: "${key}"\r\n\r\n${BODY}`, 'latin1');
        });
      resolve(Object.assign(ask, { end: () => void socket.end() }));
    });
  });
}

process.on('message', (message) => {
  if (message === 'stop') process.exit(0);
  void run(/** @type {Order} */ (message));
});
