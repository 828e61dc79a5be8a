/** `samekey janitor` as a process: once, and as a service. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { kinds, type Opened, open, request } from './operating.ts';
import { Command } from './running-demo.ts';

for (const kind of kinds()) {
  describe(`samekey janitor: ${kind.name}`, () => {
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

    /** A claim whose owner will never be heard of. */
    async function claim(key: string): Promise<void> {
      await app.samekey.store.claim([
        {
          scope: 'acme|work',
          key,
          operation: 'work',
          claimId: `claim-${key}`,
          claimTtlMs: 300,
          fingerprint: { label: 'v1', digest: 'd' },
          whenClaimEnds: 'unknown',
          retentionMs: 3_600_000,
          replayMinMs: 0,
          tombstoneMs: 0,
          attemptMax: 10,
          formatVersion: 1,
          readVersion: 1,
          entry: 'run',
          input: null,
          pendingTimeMaxMs: 0,
        },
      ]);
    }
    async function stateOf(key: string) {
      return (await app.samekey.store.list({ key }))[0]?.state ?? null;
    }
    /** Its retention was over two hours ago. */
    async function expire(key: string): Promise<void> {
      const isPostgres = database.startsWith('postgres');
      const then = isPostgres ? `clock_timestamp() - interval '2 hours'` : `${Date.now() - 7_200_000}`;
      await app.execute(
        `UPDATE samekey_records SET expires_at = ${then}${isPostgres ? `, reap_after = ${then}` : ''} WHERE key = '${key}'`,
      );
    }

    // F1, F47
    it('--once ends claims that are over and deletes what has expired, and nothing else', async () => {
      await claim('dead-1');
      await request(app, 'old-1', 201);
      await request(app, 'young-1', 201);
      await expire('old-1');
      const once = () => said(['janitor', '--once', '--json', '--database', database]);
      let said1 = await once();
      let told = said1.stderr;
      // The claim may not have been over yet.
      while (!said1.stdout.includes('"unknown":1')) {
        said1 = await once();
        told += said1.stderr;
      }
      // Nobody takes the wait for a hang.
      if (kind.name === 'SQLite') expect(told).toMatch(/^1 claim looks over\..* watching for /m);
      expect(said1.code).toBe(0);
      expect(await stateOf('dead-1')).toBe('unknown');
      expect(await stateOf('old-1')).toBeNull();
      expect(await stateOf('young-1')).toBe('completed');
      expect(said1.stderr).toContain('"event":"swept-record"');
      expect(said1.stderr).not.toContain('dead-1');
      const again = await said(['janitor', '--once', '--database', database]);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toMatch(/^0 claims were over and are ended, 0 expired records are deleted/);
    });

    it('as a service does so by and by, is measured, and ends on SIGTERM', async () => {
      const command = new Command([
        'janitor',
        '--database',
        database,
        '--sweep-every',
        '100ms',
        '--reap-every',
        '100ms',
        '--metrics-port',
        '0',
      ]);
      started.push(command);
      await command.line(/"Ready\."/);
      const { metrics } = JSON.parse(String(command.lines[0])) as { metrics: string };
      await claim('dead-2');
      await command.line(/"event":"swept-record"/);
      expect(await stateOf('dead-2')).toBe('unknown');
      await request(app, 'old-2', 201);
      await expire('old-2');
      while ((await stateOf('old-2')) !== null) await new Promise((resolve) => void setTimeout(resolve, 50));
      const text = await (await fetch(metrics)).text();
      expect(text).toMatch(/^api_idempotency_janitor_last_run\{verb="sweep"\} \d/m);
      expect(text).toMatch(/^api_idempotency_ttl_pruned_count_total\S* [1-9]/m);
      expect((await fetch(new URL('/health', metrics))).status).toBe(200);
      command.child.kill('SIGTERM');
      expect(await command.ended()).toBe(0);
      expect(command.stdout).toMatch(/"left":0,"msg":"Stopped\."/);
    });

    it('says in one line that the store cannot be used', async () => {
      const nowhere = await said(['janitor', '--database', `${database}-not-there`]);
      expect(nowhere.code).toBe(1);
      expect(nowhere.stderr.trimEnd().split('\n')).toHaveLength(1);
      expect((await said(['janitor', '--json', '--database', database])).stderr).toContain(
        '--json goes with --once',
      );
    });
  });
}
