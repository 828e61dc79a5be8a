/**
 * Why: what Samekey asks of other services it asks of its own demo, on each run of CI: every scenario of `samekey verify` that the demo
 * can be asked. How long it took is told. A fault here is a fault of the demo, of the library, or a false alarm of verify.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMain, ROOT, report } from './lib/report.mjs';
import { start, WAYS } from './smoke-demo.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

const FILE = 'tools/verify-demo.mjs';
const TIME_MAX_MS = 150_000;

/** What this demo cannot be asked: it has no other path for the same body, and its store is a file inside it. */
const NOT_ASKED = ['other-path', 'store-down', 'retry-after', 'final-refusal', 'server-error', 'expiry'];

/**
 * @param {string[]} args
 * @returns {Promise<{ status: unknown, stdout: string, stderr: string }>}
 */
function run(args) {
  const options = { cwd: ROOT, timeout: TIME_MAX_MS };
  return new Promise((resolve) => {
    execFile(process.execPath, ['packages/cli/dist/main.js', ...args], options, (error, stdout, stderr) => {
      resolve({ status: error?.code ?? (error === null ? 0 : null), stdout, stderr });
    });
  });
}

/**
 * @param {string} origin
 * @returns {Promise<Problem[]>}
 */
export async function verifyDemo(origin) {
  const args = [
    ['verify', `${origin}/payments`, '--json', '--strict'],
    ['--body', '{"customerId":"cus_1","amountCents":1200,"currency":"usd"}'],
    ['--count-url', `${origin}/ledger`, '--count-path', 'charges', '--get-url', `${origin}/payments`],
    ['--tenant-b', 'Authorization: Bearer tenant-b', '--rotated', 'Authorization: Bearer demo'],
    ['--skip', NOT_ASKED.join(',')],
  ].flat();
  const startedAt = performance.now();
  const { status, stdout, stderr } = await run(args);
  const tookMs = performance.now() - startedAt;
  if (status === null || !stdout.startsWith('{'))
    return [{ file: FILE, message: `ended with ${String(status)}: ${stderr}` }];
  /** @type {{ findings: { scenario: string, verdict: string, found: string }[] }} */
  const { findings } = JSON.parse(stdout);
  /** @type {Problem[]} */
  const problems = findings
    .filter(({ verdict }) => verdict !== 'held')
    .map(({ scenario, verdict, found }) => ({ file: FILE, message: `${scenario}: ${verdict}: ${found}` }));
  console.log(`${findings.length} scenarios asked in ${(tookMs / 1000).toFixed(1)} s`);
  return problems;
}

if (isMain(import.meta.url)) {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-verify-'));
  const { origin, stop } = await start(WAYS.node, folder);
  try {
    report('verify', await verifyDemo(origin));
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
