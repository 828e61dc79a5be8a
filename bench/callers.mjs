/**
 * The process of one contender without HTTP: a number of callers, each of which makes its next call when the last one is answered.
 * Prints nothing; answers its parent's orders.
 */
import { randomBytes } from 'node:crypto';
import { createSamekey } from 'samekey';
import { createDispatch } from '../packages/samekey/dist/engine/dispatch.js';
import { systemWorld } from '../packages/samekey/dist/system.js';
import { percentile } from './table.mjs';

const TEXT = '{"id":"ord_1","amountCents":45900,"items":8}';
const HEADERS = /** @type {const} */ ([['content-type', 'application/json; charset=utf-8']]);
const CALL_TIME_MAX_MS = 10_000;

/** @type {import('./contract.d.ts').Calls} */
const calls = JSON.parse(process.argv[2] ?? '{}');
const database = { url: calls.url, ...(calls.client === undefined ? {} : { client: calls.client }) };
const contender = await (calls.kind === 'hand-written' ? byHand() : ours());

async function byHand() {
  /** @type {{ open: import('./contract.d.ts').OpenHandWritten }} */
  const { open } = await import(`./hand-written/${calls.store}.mjs`);
  const { begin, end, find, close } = await open(database);
  return {
    close,
    /** @param {string} key */
    async once(key) {
      if (!(await begin(key))) throw new Error('a new key was known');
      await end(key, TEXT);
    },
    /** @param {string} key */
    async again(key) {
      if ((await find(key)) !== TEXT) throw new Error('a known key had no answer');
    },
  };
}

async function ours() {
  /** @type {{ open: import('./contract.d.ts').OpenStore }} */
  const { open } = await import(`./stores/${calls.store}.mjs`);
  const { store, close } = await open(database);
  await store.ready();
  return calls.kind === 'run' ? engine(store, close) : verbs(store, close);
}

/** @param {import('samekey').Store} store @param {() => Promise<void>} close */
function engine(store, close) {
  const samekey = createSamekey({ store, policy: 'payments', replayCacheBytesMax: 0 });
  /** @param {string} key @param {'executed' | 'replay'} expected */
  const run = async (key, expected) => {
    const request = { operation: 'orders', scope: ['bench', 'customer-1'], key, fingerprint: 1 };
    const outcome = await samekey.run(request, () => TEXT);
    if (outcome.kind !== expected) throw new Error(`${expected} was ${outcome.kind}`);
  };
  return {
    once: (/** @type {string} */ key) => run(key, 'executed'),
    again: (/** @type {string} */ key) => run(key, 'replay'),
    async close() {
      await samekey.close();
      await store.close();
      await close();
    },
  };
}

/** @param {import('samekey').Store} store @param {() => Promise<void>} close */
function verbs(store, close) {
  const world = systemWorld();
  const batchRowsMax = calls.kind === 'one-by-one' ? 1 : 500;
  const options = { batchRowsMax, batchBytesMax: 4_000_000, callTimeMaxMs: CALL_TIME_MAX_MS };
  const dispatch = createDispatch(store, world, options, null);
  const body = new TextEncoder().encode(TEXT);
  const fingerprint = { label: 'sha256', digest: 'uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek' };
  const deadline = () => performance.now() + CALL_TIME_MAX_MS;
  /** @param {string} key */
  const claim = (key) => {
    const claimId = world.newClaimId();
    /** @type {import('../packages/samekey/dist/store/store.js').ClaimRequest} */
    const request = {
      scope: 'bench,customer-1|orders',
      key,
      operation: 'orders',
      claimId,
      claimTtlMs: 30_000,
      fingerprint,
      whenClaimEnds: 'unknown',
      retentionMs: 86_400_000,
      replayMinMs: 0,
      tombstoneMs: 0,
      attemptMax: 10,
      formatVersion: 1,
      readVersion: 1,
      entry: 'run',
      input: null,
      pendingTimeMaxMs: 0,
    };
    return { request, result: dispatch.claim(request, deadline()) };
  };
  return {
    /** @param {string} key */
    async once(key) {
      const { request, result } = claim(key);
      const { kind } = await result;
      if (kind !== 'claimed') throw new Error(`a new key was ${kind}`);
      const finished = await dispatch.finish(
        {
          scope: request.scope,
          key,
          claimId: request.claimId,
          attempt: 1,
          to: 'completed',
          proof: null,
          reason: null,
          response: { status: 201, headers: [...HEADERS], body },
          unbindFingerprint: false,
          extendMs: 0,
          reconcileAfterMs: 0,
          handedOver: false,
        },
        deadline(),
      );
      if (finished.kind !== 'applied') throw new Error(`an end was ${finished.kind}`);
    },
    /** @param {string} key */
    async again(key) {
      const found = await claim(key).result;
      if (found.kind !== 'found' || found.because !== 'final')
        throw new Error(`a known key was ${found.kind}`);
    },
    async close() {
      await store.close();
      await close();
    },
  };
}

const prefix = randomBytes(8).toString('hex');
let sent = 0;
/** Keys that have been answered, for replays. @type {string[]} */
const known = [];
const KNOWN_MAX = 256;

/** @param {{ connections: number, seconds: number, again: boolean }} order */
async function load({ connections, seconds, again }) {
  /** @type {number[]} */
  const latencies = [];
  const cpu = process.cpuUsage();
  const beganAt = performance.now();
  const endsAt = beganAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let startedAt = performance.now(); startedAt < endsAt; ) {
        const key = again ? (known[sent++ % known.length] ?? '') : `${prefix}-${sent++}`;
        await (again ? contender.again(key) : contender.once(key));
        if (!again && known.length < KNOWN_MAX) known.push(key);
        const now = performance.now();
        latencies.push(now - startedAt);
        startedAt = now;
      }
    }),
  );
  const tookS = (performance.now() - beganAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  process.send?.({
    answered: latencies.length,
    perSecond: latencies.length / tookS,
    callerUs: (user + system) / latencies.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  });
}

process.on('message', (message) => {
  if (message === 'stop') void contender.close().then(() => process.exit(0));
  else void load(/** @type {Parameters<typeof load>[0]} */ (message));
});
process.send?.('ready');
