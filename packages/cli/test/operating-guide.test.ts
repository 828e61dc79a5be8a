/**
 * An operator with only the docs: a process dies in the middle of a payment, and whoever follows docs/guides/operating.md finds the key, learns why
 * it is stuck, settles it, and sees the client's retry replayed. The commands are those of the page, run as they stand there.
 */

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIN } from './built.ts';
import { kinds } from './operating.ts';
import { freshFolder } from './running-demo.ts';

const PAGE = readFileSync(new URL('../../../docs/guides/operating.md', import.meta.url), 'utf8');
const SERVER = fileURLToPath(new URL('apps/payments-server.mjs', import.meta.url));
const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324';
const DOWN = new Error('the server ended');

/** The `sh` blocks below a heading, in order, without those that set the environment. */
function blocksBelow(heading: string): readonly string[] {
  const section = PAGE.split(/^## /m).find((each) => each.startsWith(heading));
  return Array.from(String(section).matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => String(block));
}

interface Server {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  readonly origin: string;
  readonly lines: Interface;
}

for (const kind of kinds()) {
  describe(`an operator with only the docs: ${kind.name}`, () => {
    const folder = freshFolder();
    const hangs = join(folder.dir, 'hangs');
    const servers: Server[] = [];
    let database: string;
    beforeAll(async () => {
      await kind.start();
      database = await kind.fresh();
      // `npx samekey …` is the command that was built here.
      writeFileSync(join(folder.dir, 'npx'), `#!/bin/sh\nshift\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
      chmodSync(join(folder.dir, 'npx'), 0o755);
    });
    afterAll(async () => {
      for (const { child } of servers) child.kill('SIGKILL');
      await kind.stop();
      folder.remove();
    });

    async function serve(): Promise<Server> {
      const child = spawn(process.execPath, [SERVER], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: process.env['PATH'], APP_DATABASE: database, HANGS: hangs },
      });
      const lines = createInterface({ input: child.stdout });
      const [first] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown];
      if (typeof first !== 'string') throw DOWN;
      const server = { child, lines, origin: first.replace('listening ', '') };
      servers.push(server);
      return server;
    }

    const pay = ({ origin }: Server) =>
      fetch(`${origin}/payments`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `"${KEY}"` },
        body: JSON.stringify({ amountCents: 1200 }),
      });

    /** Runs a block of the page in a shell. */
    async function run(block: string): Promise<string> {
      const env = { PATH: `${folder.dir}:${process.env['PATH']}`, SAMEKEY_DATABASE_URL: database };
      return new Promise((resolve, reject) => {
        execFile('sh', ['-euc', block], { env }, (error, stdout, stderr) => {
          if (error === null) resolve(stdout);
          else reject(new Error(`${block}\n${stdout}${stderr}`, { cause: error }));
        });
      });
    }

    // F1
    it('finds a stuck key, learns why, settles it, and the retry is replayed', async () => {
      const [inspect = '', list = '', janitor = '', settle = '', audit = ''] = blocksBelow('A key is stuck');
      expect(audit).toContain('audit');
      for (const block of [inspect, settle, audit]) expect(block).toContain(KEY);

      // The process charges, and is killed before it can say so.
      writeFileSync(hangs, '');
      const first = await serve();
      const charged = once(first.lines, 'line');
      const lost = pay(first).then(
        ({ status }) => status,
        () => 'no answer',
      );
      expect(await charged).toEqual(['charged 1200']);
      first.child.kill('SIGKILL');
      expect(await lost).toBe('no answer');
      rmSync(hangs);

      const running = await run(inspect);
      expect(running).toMatch(/^State +in_progress/m);
      // The claim was for a second; nobody renews it.
      let over = running;
      while (!/^Claim ends +\S+ \(.* ago\)$/m.test(over)) over = await run(inspect);
      expect(over).toContain('npx samekey janitor --once');
      expect(over).toMatch(/^State +in_progress: .* has not been heard of/m);
      expect(await run(janitor)).toMatch(/1 claims? .*ended/);
      expect(await run(list.replace('--older-than 1s', '--older-than 0s'))).toMatch(
        /^unknown .*claim-ended$/m,
      );
      const second = await serve();
      const stuck = await run(inspect);
      expect(stuck).toMatch(/^State +unknown/m);
      expect(stuck).toMatch(/^Why +claim-ended: the process that ran it died or froze/m);
      expect(stuck).toContain('npx samekey settle');
      const unknown = await pay(second);
      expect(unknown.status).toBe(409);
      expect(await unknown.json()).toMatchObject({ code: 'outcome-unknown' });

      expect(await run(settle)).toContain('Settled: unknown → completed.');
      const retry = await pay(second);
      expect(retry.status).toBe(201);
      expect(retry.headers.get('Idempotency-Replayed')).toBe('true');
      expect(await retry.json()).toEqual({ id: 'pay_1' });

      const audited = await run(audit);
      expect(audited).toMatch(/settle +unknown → completed +alice@example\.com .*ticket 4711/);
      expect(await run(inspect)).toMatch(/^State +completed/m);
    });
  });
}
