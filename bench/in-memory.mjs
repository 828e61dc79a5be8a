/**
 * HTTP on streams in memory, so that no kernel takes part: connections that send the next request when the last was answered.
 */
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';

let keys = 0;
/** A key that was not used yet. */
export const nextKey = () => `00000000-0000-4000-8000-${String(keys++).padStart(12, '0')}`;

/** A client's end of a connection that sends the next request when the last was answered. */
class Connection extends Duplex {
  // What a server asks of a socket.
  setNoDelay = () => this;
  setKeepAlive = () => this;
  setTimeout = () => this;
  destroySoon = () => this.destroy();
  /** @param {() => string | null} next the next request; null: none is left */
  constructor(next) {
    super();
    this.next = next;
  }
  /** @override */
  _read() {}
  /** @override @param {Buffer} chunk @param {string} _encoding @param {() => void} done */
  _write(chunk, _encoding, done) {
    this.hear(chunk);
    done();
  }
  /** @override @param {readonly { chunk: Buffer }[]} chunks @param {() => void} done */
  _writev(chunks, done) {
    for (const { chunk } of chunks) this.hear(chunk);
    done();
  }
  /** @param {Buffer} chunk */
  hear(chunk) {
    const text = chunk.toString('latin1');
    if (text.startsWith('HTTP/1.1 ') && !/^HTTP\/1.1 20[01]/.test(text)) throw new Error(text);
    if (text.endsWith('}') || text.endsWith('\r\n0\r\n\r\n')) setImmediate(() => this.ask());
  }
  ask() {
    const request = this.next();
    if (request !== null) this.push(request);
  }
}

/** Until a round begins. */
function nobody() {}

/**
 * Gives what sends so many requests, each with a new key, over connections to a listener, and resolves when all are answered.
 * @param {import('./door-servers.mjs').Listener} listener
 * @param {string} body
 * @param {{ requests: number, connections: number }} load
 */
export function inMemory(listener, body, load) {
  let left = 0;
  let busy = 0;
  let finished = nobody;
  const next = () => {
    if (left-- > 0) return `${head}Idempotency-Key: "${nextKey()}"\r\n\r\n${body}`;
    if (--busy === 0) finished();
    return null;
  };
  const lines = [
    'POST /orders HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    'Accept: application/json',
  ];
  const head = [...lines, `Content-Length: ${body.length}`, ''].join('\r\n');
  const server = createServer((req, res) => void listener(req, res));
  const connections = Array.from({ length: load.connections }, () => new Connection(next));
  for (const connection of connections) server.emit('connection', connection);
  return () =>
    new Promise((resolve) => {
      [left, busy, finished] = [load.requests, load.connections, () => resolve(undefined)];
      for (const connection of connections) connection.ask();
    });
}
