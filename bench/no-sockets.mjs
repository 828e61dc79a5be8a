/**
 * What a protected request costs in the process when no kernel, database or client takes part: node:http on streams in memory,
 * the memory store, 1 KB of JSON with a new key each. Prints µs of CPU per request. Small changes show here that drown
 * elsewhere in the load of the machine: compare the least, which other work disturbs last. `--also` takes the folder of another
 * checkout that is built, and measures it in turns with this one.
 */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import express from 'express';
import { BODY } from './body.mjs';
import { median } from './table.mjs';

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '64' },
    framework: { type: 'string', default: 'node' },
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '20' },
    also: { type: 'string' },
    /** Measures one contender's module and prints its rounds as JSON. */
    one: { type: 'string' },
  },
});
const REQUESTS = 2_000;
/** Until the compiler has seen everything. */
const WARM_UP = 6;

/** Until a round begins. */
function nobody() {}

/** The rounds of one contender, in µs per request. @param {string} module */
async function measure(module) {
  /** @type {{ open: import('./contract.d.ts').OpenContender }} */
  const { open } = await import(module);
  const contender = await open({
    url: '',
    store: 'memory',
    workload: 'new-keys',
    cache: true,
    order(_key, body) {
      const { amountCents, items } = /** @type {{ amountCents: number, items: unknown[] }} */ (body);
      return { id: 'ord_1', amountCents, items: items.length };
    },
  });
  let listener = contender.node;
  if (values.framework === 'express') {
    const app = express();
    app.post('/orders', ...contender.express(express));
    listener = app;
  }
  const server = createServer((req, res) => void listener(req, res));
  let keys = 0;
  let left = 0;
  let busy = 0;
  let finished = nobody;

  /** A client's end of a connection that sends the next request when the last was answered. */
  class Connection extends Duplex {
    // What a server asks of a socket.
    setNoDelay = () => this;
    setKeepAlive = () => this;
    setTimeout = () => this;
    destroySoon = () => this.destroy();
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
      if (text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.1 201')) throw new Error(text);
      if (text.endsWith('}')) setImmediate(() => this.next());
    }
    next() {
      if (left-- > 0) {
        const key = `00000000-0000-4000-8000-${String(keys++).padStart(12, '0')}`;
        this.push(
          `POST /orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n` +
            `Idempotency-Key: "${key}"\r\n\r\n${BODY}`,
        );
      } else if (--busy === 0) finished();
    }
  }

  const connections = Array.from({ length: Number(values.connections) }, () => new Connection());
  for (const connection of connections) server.emit('connection', connection);
  /** @type {number[]} */
  const seen = [];
  for (let round = -WARM_UP; round < Number(values.rounds); round++) {
    const before = process.cpuUsage();
    await new Promise((resolve) => {
      left = REQUESTS;
      busy = connections.length;
      finished = () => resolve(undefined);
      for (const connection of connections) connection.next();
    });
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) seen.push((user + system) / REQUESTS);
  }
  return seen;
}

if (values.one !== undefined) {
  process.stdout.write(JSON.stringify(await measure(values.one)), () => process.exit(0));
} else {
  const here = new URL('contenders/', import.meta.url);
  /** @type {Map<string, { module: string, rounds: number[] }>} */
  const contenders = new Map();
  for (const name of ['bare', 'samekey'])
    contenders.set(name, { module: new URL(`${name}.mjs`, here).href, rounds: [] });
  if (values.also !== undefined) {
    const there = pathToFileURL(`${values.also}/bench/contenders/samekey.mjs`).href;
    contenders.set(values.also, { module: there, rounds: [] });
  }
  const same = [
    '--connections',
    values.connections,
    '--framework',
    values.framework,
    '--rounds',
    values.rounds,
  ];
  for (let i = 0; i < Number(values.processes); i++) {
    for (const { module, rounds } of contenders.values()) {
      const own = [fileURLToPath(import.meta.url), ...same, '--one', module];
      const env = { ...process.env, NODE_ENV: 'production' };
      rounds.push(...JSON.parse(execFileSync(process.execPath, own, { env, encoding: 'utf8' })));
    }
  }
  for (const [name, { rounds }] of contenders) {
    const least = Math.min(...rounds).toFixed(1);
    console.log(
      `${name.padEnd(24)} least ${least.padStart(6)}  median ${median(rounds).toFixed(1).padStart(6)}`,
    );
  }
}
