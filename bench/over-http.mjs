/** A contender that is a server: starts it and the client in processes of their own, and measures one run. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuUs } from './machine.mjs';

const path = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const KNOWN_KEYS = 256;
const WARM_SECONDS = 1;
/** Before its first run: until the compiler has seen everything, also at one connection, which sees few requests. */
const FIRST_WARM = { connections: 32, share: 0.8 };

/**
 * @typedef {object} ServerOptions
 * @property {string} name
 * @property {string} module its URL
 * @property {string} framework
 * @property {import('./contract.d.ts').Workload} workload
 * @property {string} store
 * @property {boolean} cache
 * @property {string} [client]
 * @property {string} [profile] folder for a CPU profile of the server
 */

/**
 * @param {ServerOptions} options
 * @param {{ url: string, cpuUs: () => number }} database
 * @returns {Promise<import('./contract.d.ts').Contender>}
 */
export async function overHttp({ name, profile, ...options }, database) {
  const execArgv =
    profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval', '200', `--cpu-prof-dir=${profile}`];
  const env = { ...process.env, NODE_ENV: 'production' };
  const server = fork(path('serve.mjs'), [JSON.stringify({ ...options, url: database.url })], {
    env,
    execArgv,
  });
  const client = fork(path('client.mjs'), [], { env });
  const [ofServer, ofClient] = [messagesOf(server), messagesOf(client)];
  const { port } = await ofServer();
  /** @type {string[] | null} */
  let keys = null;
  let warm = false;

  /** @param {Partial<import('./client.mjs').Order>} order */
  async function load(order) {
    const pids = [Number(server.pid), Number(client.pid)];
    let [before, after] = [[0], [0]];
    const read = () => [...pids.map(cpuUs), database.cpuUs()];
    client.send({ port, connections: 1, seconds: 1, warmSeconds: 0, keys, again: false, ...order });
    for (;;) {
      const message = await ofClient();
      if (message.kind === 'begin') before = read();
      else if (message.kind === 'end') after = read();
      else return { ...message, spent: before.map((us, i) => (after[i] ?? 0) - us) };
    }
  }

  async function counts() {
    server.send('counts');
    return ofServer();
  }

  /** Keys that have been answered, for replays. */
  async function seed() {
    const list = Array.from({ length: KNOWN_KEYS }, (_, i) => `known-${name}-${i}`.replaceAll(' ', '-'));
    for (let begin = 0; begin < list.length; begin += 16) {
      const seconds = 0.05;
      await load({ keys: list.slice(begin, begin + 16), seconds, connections: 16 });
    }
    keys = list;
  }

  return {
    name,
    async measure({ connections, seconds }) {
      const guarded = name !== 'bare';
      if (options.workload === 'replays' && keys === null) await seed();
      if (!warm) await load({ connections: FIRST_WARM.connections, seconds: seconds * FIRST_WARM.share });
      warm = true;
      await counts();
      const warmSeconds = Math.min(WARM_SECONDS, seconds);
      const again = guarded && options.workload !== 'replays';
      const done = await load({ connections, seconds, warmSeconds, again });
      const { keys: ran, twice } = await counts();
      const [serverUs = 0, clientUs = 0, databaseUs = 0] = done.spent.map(
        (/** @type {number} */ us) => us / done.answered,
      );
      const faults = Object.entries(done.statuses)
        .filter(([status]) => status !== '201')
        .map(([status, count]) => `${count} answers were ${status}`);
      if (guarded && twice > 0) faults.push(`${twice} keys ran twice`);
      if (guarded && ran !== done.keys) faults.push(`${ran} executions for ${done.keys} distinct keys`);
      return {
        perSecond: done.answered / seconds,
        p50Ms: done.p50Ms,
        p99Ms: done.p99Ms,
        serverUs,
        databaseUs,
        clientUs,
        faults,
      };
    },
    async stop() {
      const gone = Promise.all([once(server, 'exit'), once(client, 'exit')]);
      server.send('stop');
      client.send('stop');
      await gone;
    },
  };
}

/**
 * What gives the next message of a process; one that ends instead is an error. All are kept from the first on: two that come at once would
 * be told before anybody waits for the second.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => Promise<any>}
 */
function messagesOf(child) {
  /** @type {unknown[]} */
  const come = [];
  let isOver = false;
  /** @type {(() => void) | null} */
  let told = null;
  child.on('message', (message) => {
    come.push(message);
    told?.();
  });
  child.once('exit', () => {
    isOver = true;
    told?.();
  });
  return async () => {
    while (come.length === 0) {
      if (isOver) throw new Error('A process of the benchmark has ended.');
      await new Promise((resolve) => {
        told = () => resolve(undefined);
      });
    }
    return come.shift();
  };
}
