/** `samekey reconcile` as a process: once, and as a service. */

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { kinds, type Opened, open, request } from './operating.ts';
import { Command } from './running-demo.ts';

const APP = fileURLToPath(new URL('apps/mail.mjs', import.meta.url));

for (const kind of kinds()) {
  describe(`samekey reconcile: ${kind.name}`, () => {
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
    });

    const once = (...args: readonly string[]) =>
      said(['reconcile', '--app', APP, '--once', ...args], { APP_DATABASE: database });
    async function stateOf(key: string) {
      return (await app.samekey.store.list({ key }))[0]?.state;
    }

    // F19: what nobody knows is asked about, never guessed.
    it('--once settles what its application can find out, and says what is left to people', async () => {
      await request(app, 'paid-1', 500);
      await request(app, 'late-1', 500);
      const first = await once('--json');
      expect(first.code).toBe(0);
      expect(JSON.parse(first.stdout.replace(/\nclosed$/, ''))).toMatchObject({
        taken: 2,
        resolved: 1,
        scheduled: 1,
      });
      expect(await stateOf('paid-1')).toBe('completed');
      expect(await stateOf('late-1')).toBe('unknown');
      expect(await request(app, 'paid-1', 500)).toMatchObject({ kind: 'replay', value: { id: 'paid-1' } });
      await request(app, 'down-1', 500);
      const second = await once();
      expect(second.code).toBe(2);
      expect(second.stdout).toContain('1 outcomes were due: 0 settled');
      expect(second.stderr).toContain('"event":"reconcile-failed"');
      expect(second.stderr).not.toMatch(/the provider is down|down-1/);
      const { stdout: audit } = await said(['audit', '--database', database, '--act', 'settle']);
      expect(audit).toMatch(/unknown → completed +reconciler/);
    });

    it('as a service settles what comes, and ends on SIGTERM', async () => {
      const command = new Command(['reconcile', '--app', APP, '--metrics-port', '0'], {
        APP_DATABASE: database,
      });
      started.push(command);
      await command.line(/"Ready\."/);
      await request(app, 'paid-2', 500);
      await command.line(/"event":"reconcile-resolved"/);
      expect(await stateOf('paid-2')).toBe('completed');
      const { metrics } = JSON.parse(String(command.lines[0])) as { metrics: string };
      expect(await (await fetch(metrics)).text()).toMatch(
        /^api_idempotency_reconcile_resolved_count_total\S* 1$/m,
      );
      command.child.kill('SIGTERM');
      expect(await command.ended()).toBe(0);
      expect(command.stdout).toMatch(/^closed$/m);
    });
  });
}
