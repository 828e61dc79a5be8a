/**
 * Why: the first thing a newcomer does is `npm start` and the requests of the README. That way in is walked here as they would: the
 * same payment twice answers the same bytes once charged, a provider whose reply is lost charges once, the ledger says so, and
 * Ctrl-C and another start lose nothing.
 */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {{ status: number, body: string, replayed: string | null, type: string | null }} Answer */

const START_MAX_MS = 180_000;
const STOP_MAX_MS = 20_000;
/** What Ctrl-C makes of a shell between npm and the demo, whatever the demo itself ended with. */
const INTERRUPTED = 130;

/** What `npm start` runs, and the same without npm: only then is the exit code the demo's own. */
export const WAYS = {
  npm: ['npm', 'start'],
  node: [process.execPath, 'packages/cli/dist/main.js', 'demo'],
};

/**
 * @param {string[]} command
 * @param {string} folder where the demo keeps its data
 * @param {string} [cwd]
 */
export async function start(command, folder, cwd = ROOT) {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd,
    // A group of its own, so that it can be interrupted as a terminal does it: everything in it at once.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SAMEKEY_DEMO_PORT: '0', SAMEKEY_DEMO_DIR: folder },
  });
  /** @type {Promise<number>} */
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? INTERRUPTED : 1)));
  });
  let output = '';
  /** @type {Promise<string>} */
  const url = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      process.stdout.write(text);
      output += text;
      // A whole line, so that the port is not cut.
      const match = /(https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):\d+).*\n/.exec(output);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
  });
  /** @param {NodeJS.Signals} signal */
  const signalAll = (signal) => {
    try {
      process.kill(-Number(child.pid), signal);
    } catch {
      // Already gone.
    }
  };
  const stop = async () => {
    signalAll('SIGINT');
    const code = await within(ended, STOP_MAX_MS);
    signalAll('SIGKILL');
    return code;
  };
  const origin = await within(Promise.race([url, ended.then(() => undefined)]), START_MAX_MS);
  if (origin === undefined) {
    signalAll('SIGKILL');
    throw new Error(
      `\`${command.join(' ')}\` printed no http://localhost:… address (it is what a newcomer opens)`,
    );
  }
  return { origin, stop };
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} timeMaxMs
 * @returns {Promise<T | undefined>}
 */
async function within(promise, timeMaxMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeMaxMs, undefined);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<undefined>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {string} origin
 * @param {string} key
 * @param {string} [provider] what the payment provider is to do wrong
 * @returns {Promise<Answer>}
 */
async function pay(origin, key, provider) {
  const response = await fetch(`${origin}/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
    body: JSON.stringify({ customerId: 'cus_1', amountCents: 1250, currency: 'eur', provider }),
    signal: AbortSignal.timeout(30_000),
  });
  return {
    status: response.status,
    body: await response.text(),
    replayed: response.headers.get('idempotency-replayed'),
    type: response.headers.get('content-type'),
  };
}

/**
 * @param {string} which
 * @param {Answer} first
 * @param {Answer} answer
 * @returns {string[]}
 */
function compare(which, first, answer) {
  /** @type {string[]} */
  const wrong = [];
  if (answer.status !== 201) wrong.push(`${which}: status ${answer.status}, not 201: ${answer.body}`);
  if (answer.body !== first.body) wrong.push(`${which}: another body: ${first.body} then ${answer.body}`);
  if (answer.type !== first.type)
    wrong.push(`${which}: another Content-Type: ${first.type} then ${answer.type}`);
  if (answer.replayed !== 'true')
    wrong.push(
      `${which}: Idempotency-Replayed is ${answer.replayed}, not true: it may have been charged twice`,
    );
  return wrong;
}

/**
 * The golden path: the provider charges, its reply is lost, the retry finds the charge; and what the ledger says of it all.
 * @param {string} origin
 * @returns {Promise<string[]>}
 */
async function goldenPath(origin) {
  /** @type {string[]} */
  const wrong = [];
  const key = randomUUID();
  const unclear = await pay(origin, key, 'loses-reply');
  if (unclear.status !== 409) wrong.push(`a lost reply: status ${unclear.status}, not 409: ${unclear.body}`);
  const paid = await pay(origin, key, 'loses-reply');
  if (paid.status !== 201)
    wrong.push(`the retry of a lost reply: status ${paid.status}, not 201: ${paid.body}`);
  const response = await fetch(`${origin}/ledger`, { signal: AbortSignal.timeout(30_000) });
  const text = await response.text();
  /** @type {{ intents?: number, charges?: number, oneChargePerIntent?: boolean }} */
  const { intents, charges, oneChargePerIntent } = JSON.parse(text);
  if (intents !== 2 || charges !== 2 || oneChargePerIntent !== true)
    wrong.push(`the ledger: not two intents with one charge each: ${text}`);
  return wrong;
}

/**
 * @param {string} [cwd]
 * @param {{ npm: string[], node: string[] }} [ways]
 * @returns {Promise<Problem[]>}
 */
export async function smokeDemo(cwd = ROOT, ways = WAYS) {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-demo-'));
  const key = randomUUID();
  /** @type {string[]} */
  const wrong = [];
  try {
    const one = await start(ways.npm, folder, cwd);
    /** @type {Answer} */
    let first;
    try {
      first = await pay(one.origin, key);
      if (first.status !== 201) wrong.push(`the payment: status ${first.status}, not 201: ${first.body}`);
      if (first.replayed !== null) wrong.push('the payment: Idempotency-Replayed on a first answer');
      wrong.push(...compare('the retry', first, await pay(one.origin, key)));
      wrong.push(...(await goldenPath(one.origin)));
    } finally {
      const code = await one.stop();
      if (code === undefined) wrong.push(`it did not end within ${STOP_MAX_MS / 1000} s of Ctrl-C`);
      else if (code !== 0 && code !== INTERRUPTED) wrong.push(`npm start ended with ${code} on Ctrl-C`);
    }
    const two = await start(ways.node, folder, cwd);
    try {
      wrong.push(...compare('the retry after another start', first, await pay(two.origin, key)));
    } finally {
      const code = await two.stop();
      if (code !== 0) wrong.push(`the demo ended with ${code ?? 'no exit code in time'} on SIGINT, not 0`);
    }
  } catch (error) {
    wrong.push(String(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return wrong.map((message) => ({ file: 'npm start', message }));
}

if (isMain(import.meta.url)) report('demo', await smokeDemo());
