/** `samekey worker`, `requeue` and `erase` as processes, with an application's module. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOutbox } from 'samekey/outbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { kinds, type Opened, open, request } from './operating.ts';
import { Command, freshFolder } from './running-demo.ts';

const APP = fileURLToPath(new URL('apps/mail.mjs', import.meta.url));

for (const kind of kinds()) {
  describe(`samekey worker: ${kind.name}`, () => {
    const folder = freshFolder();
    const down = join(folder.dir, 'mail-is-down');
    let database: string;
    let app: Opened;
    const started: Command[] = [];
    beforeAll(async () => {
      await kind.start();
      database = await kind.fresh();
      app = await open(database);
    });
    afterAll(async () => {
      for (const { child } of started) child.kill('SIGKILL');
      await app.close();
      await kind.stop();
      folder.remove();
    });

    const samekey = (...args: readonly string[]) => said([...args, '--database', database]);
    function worker(...args: readonly string[]): Command {
      const env = { APP_DATABASE: database, MAIL_DOWN: down };
      const command = new Command(['worker', '--app', APP, ...args], env);
      started.push(command);
      return command;
    }
    const send = (payload: string) =>
      createOutbox({ store: app.samekey.store }).enqueueAlone({ topic: 'mail', payload });

    it('delivers, is measured and well, and lets what is under way end on SIGTERM', async () => {
      const command = worker('--metrics-port', '0', '--log-level', 'debug');
      await command.line(/"Ready\."/);
      const ready = JSON.parse(String(command.lines.find((line) => line.includes('"Ready."')))) as {
        metrics: string;
      };
      await send('one');
      await command.line(/"event":"delivered"/);
      expect(command.stdout).toMatch(/^sent one$/m);
      const { origin } = new URL(ready.metrics);
      const health = await fetch(`${origin}/health`);
      expect(health.status).toBe(200);
      expect(await health.json()).toMatchObject({ status: 'ok', service: 'worker' });
      expect((await fetch(`${origin}/else`)).status).toBe(404);
      expect((await fetch(`${origin}/metrics`, { method: 'POST' })).status).toBe(405);
      await send('slow');
      expect(await (await fetch(ready.metrics)).text()).toMatch(
        /^api_idempotency_delivery_count_total\{.*end="delivered".*\} 1$/m,
      );
      // Begun: its lease is taken.
      while ((await queue()).every(({ state }) => state !== 'leased'))
        await new Promise((resolve) => void setTimeout(resolve, 20));
      command.child.kill('SIGTERM');
      expect(await command.ended()).toBe(0);
      expect(command.stdout).toMatch(/^sent slow$/m);
      expect(command.stdout).toMatch(/"left":0,"msg":"Stopped\."/);
      expect(command.stdout).toMatch(/^closed$/m);
      expect(command.stderr).toBe('');
    });

    it('gives up a message whose handler fails, and requeue delivers it again, under the name of who did it', async () => {
      writeFileSync(down, '');
      const id = await send('fails');
      const command = worker();
      await command.line(/"event":"dead-letter"/);
      // What a handler throws may hold anything: it is not logged unless asked for.
      expect(command.stdout).not.toContain('the mail server is down');
      const listed = await samekey('requeue');
      expect(listed.stdout).toContain(id);
      expect(listed.stdout).toContain('the mail server is down');
      expect(listed.stdout).not.toContain('"fails"');
      rmSync(down);
      const none = await samekey('requeue', 'no-such-id', '--reason', 'r', '--yes');
      expect(none.code).toBe(2);
      expect((await samekey('requeue', id, '--yes')).code).toBe(1);
      const args = ['--all', '--topic', 'mail', '--reason', 'it is up again', '--actor', 'bob', '--yes'];
      expect(await samekey('requeue', ...args)).toMatchObject({
        code: 0,
        stdout: '1 messages are delivered again.',
      });
      await command.line(/^sent fails$/);
      command.child.kill('SIGINT');
      expect(await command.ended()).toBe(0);
      expect((await samekey('audit', '--act', 'requeue')).stdout).toMatch(/requeue .*bob .*it is up again/);
      expect((await samekey('requeue')).stdout).toContain('No dead letters.');
    });

    it('says in one line that the module is not what it should be', async () => {
      const wrong = join(folder.dir, 'wrong.mjs');
      for (const [text, pattern] of [
        ['export default { handlers: {} }', /must export by default/],
        ['export default () => { throw new Error("no config"); }', /no config/],
        ['export const nothing = 1', /must export by default/],
        ['import "not-there-at-all"', /cannot be loaded/],
        [
          'export default { samekey: { store: { claim() {} } }, handler: {} }',
          /"handler" that nothing reads/,
        ],
      ] as const) {
        writeFileSync(wrong, text);
        const failed = await said(['worker', '--app', wrong]);
        expect(failed.code).toBe(1);
        expect(failed.stderr).toMatch(pattern);
        rmSync(wrong);
      }
    });

    it('erases a caller by the parts of its scope: its keys never run again', async () => {
      await request(app, 'k-1', 201, { scope: ['acme', 'eve'] });
      await request(app, 'k-2', 500, { scope: ['acme', 'eve'] });
      const erase = ['erase', 'acme', 'eve', '--reason', 'request 4711', '--actor', 'privacy-desk', '--yes'];
      const first = await samekey(...erase);
      expect(first.code).toBe(2);
      expect(first.stdout).toMatch(/1 records are erased[\s\S]*1 are left/);
      await samekey('settle', 'k-2', '--to', 'failed', '--status', '500', '--reason', 'gone', '--yes');
      expect(await samekey(...erase)).toMatchObject({ code: 0, stderr: '' });
      expect(await request(app, 'k-1', 201, { scope: ['acme', 'eve'] })).toMatchObject({
        kind: 'response-not-stored',
      });
      expect((await samekey('audit', '--act', 'erase')).stdout.match(/privacy-desk/g)).toHaveLength(2);
      expect((await samekey('erase', 'acme', '--scope', 'acme', '--reason', 'r', '--yes')).code).toBe(1);
    });

    async function queue() {
      return createOutbox({ store: app.samekey.store }).count();
    }
  });
}
