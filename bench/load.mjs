/**
 * The load: a number of keep-alive connections, each of which sends its next request when the last was answered. It runs in
 * a process of its own, so that its work is not counted. Checks that every answer has the status that is expected.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { BODY } from './body.mjs';

/**
 * @typedef {object} Load
 * @property {number} port
 * @property {string} path
 * @property {number} requests in all
 * @property {number} connections
 * @property {string} [key] the same key for all; default a new one each
 * @param {Load} load
 * @returns {Promise<number>} how long it took, in milliseconds
 */
export async function run({ port, path, requests, connections, key }) {
  let left = requests;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: connections }, () =>
      oneConnection(port, () => (left-- > 0 ? text(path, key) : null)),
    ),
  );
  return performance.now() - startedAt;
}

/**
 * @param {string} path
 * @param {string | undefined} key
 */
function text(path, key = randomUUID()) {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${BODY.length}\r\nIdempotency-Key: "${key}"\r\n\r\n${BODY}`
  );
}

/**
 * @param {number} port
 * @param {() => string | null} next
 * @returns {Promise<void>}
 */
function oneConnection(port, next) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const send = () => {
      const request = next();
      if (request !== null) return void socket.write(request);
      socket.end();
      return resolve();
    };
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.once('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received += String(chunk);
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
      if (Number.isNaN(length)) return reject(new Error(`no Content-Length: ${received.slice(0, headEnd)}`));
      if (received.length < headEnd + 4 + length) return;
      if (!received.startsWith('HTTP/1.1 201 ')) return reject(new Error(received));
      received = '';
      send();
    });
  });
}
