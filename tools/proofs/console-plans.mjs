/**
 * Why: an operator looks when the table is largest and the database busiest. With a month of traffic in it, 1,000,000 records and as
 * many messages in the queue, every statement of the console goes by an index and reads few pages. The plans are kept in
 * `.build/console-plans.txt`; the same with fewer records is a test (`packages/console/test/plans.test.ts`).
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lib/report.mjs';
import { binOf } from '../lib/run.mjs';

export const name = 'console-plans';

const RECORDS = 1_000_000;
const SHOWN_LENGTH_MAX = 5_000;

/** A round is the whole of it; more of them show nothing else. @param {import('./rounds.mjs').ProofOptions} options */
export async function run({ log = () => undefined }) {
  const plans = join(ROOT, '.build/console-plans.txt');
  mkdirSync(dirname(plans), { recursive: true });
  const child = spawn(process.execPath, [binOf('vitest'), 'run', 'packages/console/test/plans.test.ts'], {
    cwd: ROOT,
    env: { ...process.env, SAMEKEY_CONSOLE_RECORDS: String(RECORDS), SAMEKEY_CONSOLE_PLANS: plans },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => void (said += text));
  const code = await new Promise((resolve) => void child.on('close', resolve));
  if (code === 0) {
    log(`the plans are in ${plans}`);
    return { rounds: 1, failures: [] };
  }
  const failure = `the plans of the console: ${said.slice(-SHOWN_LENGTH_MAX)}`;
  log(`FAILED ${failure}`);
  return { rounds: 1, failures: [failure] };
}
