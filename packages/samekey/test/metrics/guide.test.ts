/** The walk-through of docs/guides/metrics.md: its application runs as written, and each line shows what the page says. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../services/machine.ts';

const PAGE = readFileSync(new URL('../../../../docs/guides/metrics.md', import.meta.url), 'utf8');

function block(after: string, language: string): string {
  const from = PAGE.indexOf('```' + language, PAGE.indexOf(after));
  return PAGE.slice(PAGE.indexOf('\n', from) + 1, PAGE.indexOf('\n```', from));
}

it('each request of the walk-through is answered as the page says, and its counter moves to what the page shows', async () => {
  const port = await freePort();
  // Inside the repository, so that names of packages resolve; `.out` is ignored by git.
  const out = fileURLToPath(new URL('.out/', import.meta.url));
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(join(out, 'guide-'));
  const program = join(folder, 'application.mjs');
  const application = block('## Connect', 'ts').replace(
    'app.listen(3000)',
    `app.listen(${port}, () => process.send('up'))`,
  );
  writeFileSync(program, application);
  const child = fork(program, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  });
  await Promise.race([once(child, 'message'), ended.then(() => Promise.reject(new Error('it ended')))]);

  let steps = 0;
  for (const line of block('## See the numbers move', 'sh').split('\n')) {
    const [, key, body, status] = /^pay (\w+) '(.*)' +# (\d+)/.exec(line) ?? [];
    const [, metric, labels, value] = /^look +# (\w+)\{(.*)\} (\d+)$/.exec(line) ?? [];
    if (key !== undefined) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      const answer = await fetch(`http://127.0.0.1:${port}/pay`, {
        method: 'POST',
        headers,
        body: body ?? '',
      });
      expect(String(answer.status), line).toBe(status);
      steps += 1;
    } else if (metric !== undefined) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text, line).toContain(`api_idempotency_${metric}{${labels}} ${value}\n`);
      steps += 1;
    }
  }
  expect(steps).toBe(9);
});
