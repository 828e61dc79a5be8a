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
      const connection = new Connection(port);
      /** @type {string[]} */
      const last = [];
      for (let startedAt = performance.now(); startedAt < endsAt; ) {
        const key = nextKey();
        const answer = await connection.ask(key);
        const now = performance.now();
        count(answer);
        if (startedAt >= beginsAt && now <= endsAt) latencies.push(now - startedAt);
        startedAt = now;
        last.push(key);
        if (last.length > AGAIN) last.shift();
      }
      if (again) for (const key of last) count(await connection.ask(key));
      connection.end();
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

/** One keep-alive connection, one request at a time. */
class Connection {
  /** @type {(status: string) => void} */
  #answered = () => undefined;
  #received = '';
  #socket;

  /** @param {number} port */
  constructor(port) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.setEncoding('latin1');
    this.#socket.on('error', (error) => this.#answered(error.message));
    this.#socket.on('close', () => this.#answered('closed'));
    this.#socket.on('data', (chunk) => this.#take(String(chunk)));
  }

  /**
   * Sends one request; resolves with the status of its answer.
   * @param {string} key
   * @returns {Promise<string>}
   */
  ask(key) {
    return new Promise((resolve) => {
      this.#answered = resolve;
      if (this.#socket.destroyed) return resolve('closed');
      this.#socket.write(`${HEAD}Idempotency-Key: "${key}"\r\n\r\n${BODY}`, 'latin1');
    });
  }

  end() {
    this.#socket.end();
  }

  /** @param {string} chunk */
  #take(chunk) {
    this.#received += chunk;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1]);
    if (this.#received.length < headEnd + 4 + length) return;
    const status = this.#received.slice(9, 12);
    this.#received = '';
    this.#answered(Number.isNaN(length) ? 'no length' : status);
  }
}

process.on('message', (message) => {
  if (message === 'stop') process.exit(0);
  void run(/** @type {Order} */ (message));
});
