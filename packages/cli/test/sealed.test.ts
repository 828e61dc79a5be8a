/** The operator's commands on a store whose answers are sealed: with `--app` they open and seal, without it nothing is opened. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { createSamekey, reply } from 'samekey';
import { keyRing, sealed } from 'samekey/seal';
import { sqliteStore } from 'samekey/stores/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';

const APP = fileURLToPath(new URL('apps/sealed.mjs', import.meta.url));
const folder = freshFolder();
const path = `${folder.dir}/keys.db`;

function withApp(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return said([...args, '--app', APP], { APP_DATABASE: path, ...env });
}

describe('sealed answers', () => {
  beforeAll(async () => {
    const database = new Database(path);
    const store = sqliteStore({ service: 'shop', database });
    await store.migrate();
    const ring = keyRing({ current: 'k1', keys: { k1: Buffer.alloc(32, 'k1') } });
    const samekey = createSamekey({ store: sealed(store, ring), policy: 'payments' });
    const request = { scope: ['acme'], operation: 'pay', fingerprint: 1 };
    await samekey.run({ ...request, key: 'k-done' }, () => reply(201, { secret: 'card-4711' }));
    await samekey.run({ ...request, key: 'k-unknown' }, () => reply(500, {}));
    await samekey.close();
    database.close();
  });
  afterAll(() => folder.remove());

  it('are shown with --app, and by nothing else', async () => {
    const shown = await withApp(['inspect', 'k-done', '--show-bodies']);
    expect(shown.stdout).toContain('card-4711');
    const { stdout } = await said(['inspect', 'k-done', '--show-bodies', '--database', path]);
    expect(stdout).toMatch(/^State +completed/m);
    expect(stdout).not.toContain('card-4711');
    const other = await withApp(['inspect', 'k-done', '--show-bodies'], { SEAL_KEY: 'k2' });
    expect(other).toMatchObject({ code: 0, stderr: '' });
    expect(other.stdout).toMatch(/^Sealed +its response cannot be opened \(missing-key, key k1\)/m);
    expect(other.stdout).not.toContain('card-4711');
  });

  it('are sealed when an operator settles with --app: nothing of them stands clear in the file', async () => {
    const answer = ['--to', 'completed', '--status', '201', '--body', '{"secret":"iban-0815"}'];
    const settle = ['settle', 'k-unknown', ...answer, '--reason', 'found', '--actor', 'alice', '--yes'];
    expect(await withApp(settle)).toMatchObject({ code: 0, stderr: '' });
    expect((await withApp(['inspect', 'k-unknown', '--show-bodies'])).stdout).toContain('iban-0815');
    for (const file of [path, `${path}-wal`]) {
      const bytes = existsSync(file) ? readFileSync(file, 'latin1') : '';
      expect(bytes).not.toContain('iban-0815');
      expect(bytes).not.toContain('card-4711');
    }
  });

  it('are not joined by a clear one: without --app no answer is given', async () => {
    const database = new Database(path);
    const samekey = createSamekey({ store: sqliteStore({ service: 'shop', database }), policy: 'payments' });
    const request = { scope: ['acme'], operation: 'pay', fingerprint: 1, key: 'k-clear' };
    await samekey.run(request, () => reply(500, {}));
    // Answers that hold nothing tell nothing of how others are kept.
    for (let n = 0; n < 7; n += 1) await samekey.run({ ...request, key: `k-empty-${n}` }, () => undefined);
    const settle = ['settle', 'k-clear', '--to', 'completed', '--status', '201', '--body', '{}'];
    const refused = await said([...settle, '--reason', 'found', '--yes', '--database', path]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('use --app');
    expect((await samekey.store.list({ key: 'k-clear' }))[0]?.state).toBe('unknown');
    database.close();
  });

  it('are looked at by the doctor with --app, which says what it could not look at', async () => {
    const { code, stdout } = await withApp(['doctor']);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /^note +database .*With --app|^note +database +The database itself was not looked at/m,
    );
    // Keys like these can be guessed.
    expect(stdout).toMatch(/^WARNING +keys/m);
  });
});
