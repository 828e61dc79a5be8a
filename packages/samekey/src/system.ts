/**
 * The real machine: clocks, timers, randomness, digests. Runs on Node, Deno, Bun and Workers: it imports nothing, and
 * takes Node's synchronous digests where the runtime has them, else Web Crypto's asynchronous ones.
 */

import type { ProbePoint, Timer, World } from './core/world.ts';

/** The part of `node:crypto` used here. */
interface NodeCrypto {
  createHash(algorithm: 'sha256'): NodeHash;
  /** Since Node 20.12: in one call, without an object that the collector has to end. */
  hash?(algorithm: 'sha256', bytes: Uint8Array, encoding: 'base64url'): string;
  createHmac(algorithm: 'sha256', secret: Uint8Array): NodeHash;
}
interface NodeHash {
  update(bytes: Uint8Array): NodeHash;
  digest(encoding: 'base64url'): string;
}
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: 'node:crypto'): NodeCrypto | undefined;
    emitWarning?(message: string, options: { readonly type: string; readonly code: string }): void;
  };
}

const runtime = (globalThis as Runtime).process;
// Fetched without an import, so that bundlers for browsers and Workers meet no Node module.
const nodeCrypto = runtime?.getBuiltinModule?.('node:crypto');

const setImmediateOf = (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate;

/** The machine Samekey runs on. `probe` is for tests. */
export function systemWorld(probe?: World['probe']): World {
  return {
    monotonicNow: () => performance.now(),
    wallNow: () => Date.now(),
    setTimer: startTimer,
    ...(setImmediateOf === undefined ? {} : { soon: setImmediateOf }),
    newClaimId: () => crypto.randomUUID(),
    random: () => Math.random(),
    sha256:
      nodeCrypto === undefined
        ? async (bytes) => base64url(await crypto.subtle.digest('SHA-256', webBytes(bytes)))
        : (bytes) =>
            nodeCrypto.hash?.('sha256', bytes, 'base64url') ??
            nodeCrypto.createHash('sha256').update(bytes).digest('base64url'),
    hmacSha256:
      nodeCrypto === undefined
        ? async (secret, bytes) =>
            base64url(await crypto.subtle.sign('HMAC', await hmacKey(secret), webBytes(bytes)))
        : (secret, bytes) => nodeCrypto.createHmac('sha256', secret).update(bytes).digest('base64url'),
    warn(code, message) {
      if (runtime?.emitWarning === undefined) reportWarning(code, message);
      else runtime.emitWarning(message, { type: 'SamekeyWarning', code });
    },
    ...(probe === undefined ? {} : { probe }),
  };
}

/** The longest delay that timers know; a longer one would end at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

function startTimer(delayMs: number, callback: () => void): Timer {
  if (delayMs > DELAY_MAX_MS) return startLongTimer(delayMs, callback);
  const timer: unknown = setTimeout(callback, delayMs);
  // Node and Bun give an object whose timers would keep the process alive; elsewhere it is a number.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref();
  return { cancel: () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]) };
}

function startLongTimer(delayMs: number, callback: () => void): Timer {
  let timer = startTimer(DELAY_MAX_MS, () => {
    timer = startTimer(delayMs - DELAY_MAX_MS, callback);
  });
  return { cancel: () => timer.cancel() };
}

/** The names of the probe points, for tests that go through all of them. */
export const PROBE_POINTS: readonly ProbePoint[] = [
  'claim.before',
  'claim.applied',
  'handler.before',
  'handler.after',
  'phase.before',
  'effect.before',
  'effect.after',
  'effect.applied',
  'commit.before',
  'commit.sent',
  'commit.applied',
  'phase.applied',
  'finish.before',
  'finish.applied',
  'answer.before',
  'answer.sent',
];

function reportWarning(code: string, message: string): void {
  // oxlint-disable-next-line no-console -- the only channel for a warning in a runtime without process.emitWarning
  console.warn(`SamekeyWarning [${code}]: ${message}`);
}

function hmacKey(secret: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', webBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** Web Crypto's types refuse views on shared memory; ours are never shared. */
function webBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

function base64url(buffer: ArrayBuffer): string {
  let binary = '';
  for (const byte of new Uint8Array(buffer)) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
