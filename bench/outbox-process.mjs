/** One worker of bench/outbox.mjs, in a process of its own: drains what is there, then notes when each further message began. */
import { setTimeout as pause } from 'node:timers/promises';

const [name, url, wanted] = process.argv.slice(2);
const count = Number(wanted);
/** @type {{ start(url: string, onJob: (payload: { n?: number, sentAt?: number }) => void): Promise<() => Promise<void>> }} */
const contender = await import(`./rivals/${name}.mjs`);

const seen = new Set();
/** @type {number[]} */
const delays = [];
/** @type {(value?: unknown) => void} */
let drained = () => undefined;
const all = new Promise((resolve) => {
  drained = resolve;
});

const from = performance.now();
const cpuFrom = process.cpuUsage();
const stop = await contender.start(String(url), (payload) => {
  if (payload.sentAt !== undefined) {
    delays.push(performance.timeOrigin + performance.now() - payload.sentAt);
    return;
  }
  seen.add(payload.n);
  if (seen.size === count) drained();
});
await all;
const { user, system } = process.cpuUsage(cpuFrom);
process.send?.({ drainMs: performance.now() - from, cpuMs: (user + system) / 1_000 });
process.on('message', (message) => {
  if (message === 'stop') {
    void stop().then(() => process.exit(0));
    return;
  }
  void (async () => {
    for (let i = 0; i < 500 && delays.length < Number(message); i += 1) await pause(20);
    if (delays.length !== Number(message))
      throw new Error(`${name}: ${delays.length} of ${String(message)} came.`);
    process.send?.({ delays });
  })();
});
