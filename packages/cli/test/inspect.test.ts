/** `samekey inspect` as a process, on databases with records that real requests left. */

import { hashKey } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { kinds, open, request } from './operating.ts';

const CALLER = 'acme/alice';

for (const kind of kinds()) {
  describe(`samekey inspect: ${kind.name}`, () => {
    let database: string;
    beforeAll(async () => {
      await kind.start();
      database = await kind.fresh();
      const app = await open(database);
      await request(app, 'secret-key-1', 201);
      await request(app, 'secret-key-2', 409);
      await request(app, 'secret-key-3', 500);
      await request(app, 'twice', 201);
      await request(app, 'twice', 201, { operation: 'POST /refunds' });
      await request(app, 'twice', 500, { scope: ['acme', 'bob'] });
      await app.close();
    });
    afterAll(() => kind.stop());

    const inspect = (...args: readonly string[]) => said(['inspect', '--database', database, ...args]);

    it('lists records, newest first, without a key, a caller or a byte of a body', async () => {
      const { code, stdout, stderr } = await inspect();
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const states = stdout
        .split('\n')
        .slice(2)
        .map((line) => line.split(' ')[0]);
      expect(states).toEqual(['unknown', 'completed', 'completed', 'unknown', 'failed', 'completed']);
      expect(stdout).not.toMatch(/secret-key|alice|bob|answer-of/);
      expect(stdout).toContain('status-500');
    });

    it('filters by state, age, operation and caller, and says when there may be more', async () => {
      const keys = async (...args: readonly string[]): Promise<unknown> => {
        const { stdout } = await inspect('--json', '--show-keys', ...args);
        return (JSON.parse(stdout) as { records: { key: string }[] }).records.map(({ key }) => key);
      };
      expect(await keys('--state', 'unknown')).toEqual(['twice', 'secret-key-3']);
      expect(await keys('--state', 'unknown,failed')).toEqual(['twice', 'secret-key-3', 'secret-key-2']);
      expect(await keys('--operation', 'POST /refunds')).toEqual(['twice']);
      expect(await keys('--scope', 'acme/bob')).toEqual(['twice']);
      expect(await keys('--scope', `${CALLER}|POST /payments`, '--limit', '2')).toEqual([
        'twice',
        'secret-key-3',
      ]);
      expect(await keys('--older-than', '1h')).toEqual([]);
      expect((await inspect('--limit', '2')).stdout).toContain('there may be more');
    });

    it('shows one record whole: why it is so, and what to do; its key and answer only when asked', async () => {
      const { code, stdout } = await inspect('secret-key-3');
      expect(code).toBe(0);
      expect(stdout).toMatch(/^State +unknown: the last attempt may have taken effect/m);
      expect(stdout).toMatch(/^Why +status-500: the handler of attempt 1 answered 500$/m);
      expect(stdout).toMatch(/^Expires +not while its outcome is open$/m);
      const hash = hashKey({ scope: `${CALLER}|POST /payments`, key: 'secret-key-3' });
      expect(stdout).toContain(`npx samekey settle --hash ${hash} --to`);
      expect(stdout).not.toMatch(/secret-key|alice/);
      const byHash = await inspect('--hash', `#${hash}`);
      expect(byHash.stdout).toContain('status-500');
      const shown = await inspect('secret-key-1', '--show-keys', '--show-bodies');
      expect(shown.stdout).toMatch(/^Key +secret-key-1$/m);
      expect(shown.stdout).toMatch(/^Caller +acme\/alice$/m);
      expect(shown.stdout).toContain('"said":"answer-of-secret-key-1"');
      const answer = JSON.parse((await inspect('secret-key-1', '--show-bodies', '--json')).stdout) as {
        record: { answer: { status: number; body: unknown }; key?: string };
      };
      expect(answer.record.answer).toMatchObject({ status: 201, body: { encoding: 'utf8' } });
      expect(answer.record.key).toBeUndefined();
    });

    // F25: one text, several records.
    it('lists the candidates of a key that stands for several records, and shows none of them', async () => {
      const { code, stdout, stderr } = await inspect('twice');
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('The key stands for 3 records');
      expect(stderr.match(/--hash [\w-]{16}/g)).toHaveLength(3);
      const refund = await inspect('twice', '--operation', 'POST /refunds');
      expect(refund).toMatchObject({ code: 0 });
      expect((await inspect('twice', '--scope', 'acme/bob')).stdout).toMatch(/^State +unknown/m);
      expect((await inspect('twice', '--scope', 'acme')).code).toBe(2);
    });

    it('says that a record is not there, and that nothing was named', async () => {
      expect(await inspect('nobody')).toMatchObject({ code: 2, stdout: '' });
      expect(await inspect('nobody', '--hash', 'AAAAAAAAAAAAAAAA')).toMatchObject({ code: 1 });
      expect(await inspect('--state', 'weird')).toMatchObject({ code: 1 });
      expect(await inspect('nobody', '--limit', '3')).toMatchObject({ code: 1 });
    });

    it('names the command that makes the tables where there are none', async () => {
      const nowhere = await said(['inspect', '--database', `${database}-not-there`]);
      expect(nowhere).toMatchObject({ code: 1, stdout: '' });
      expect(nowhere.stderr.trimEnd().split('\n')).toHaveLength(1);
      const empty = await kind.fresh();
      const app = await open(empty);
      await app.execute('DROP TABLE samekey_audit; DROP TABLE samekey_records; DROP TABLE samekey_meta');
      await app.close();
      for (const args of [['inspect'], ['inspect', 'k1'], ['audit']]) {
        const failed = await said([...args, '--database', empty]);
        expect(failed).toMatchObject({ code: 1, stdout: '' });
        expect(failed.stderr).toMatch(/^samekey: Migrations are missing: .*Run `npx samekey migrate`\.\n$/);
      }
    });
  });
}
