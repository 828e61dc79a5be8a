/** `samekey migrate` on SQLite files, and how it finds the database that is meant. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { sqliteStore } from 'samekey/stores/sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { CliError } from '../src/cli-error.ts';
import { findAddress } from '../src/database/address.ts';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';

const folder = freshFolder();
afterAll(() => folder.remove());
let files = 0;
const fresh = (): string => join(folder.dir, `keys-${(files += 1)}.db`);

describe('samekey migrate on SQLite', () => {
  it.each<[string, (path: string) => string]>([
    ['a path', (path) => path],
    ['sqlite:', (path) => `sqlite:${path}`],
    ['sqlite://', (path) => `sqlite://${path}`],
    ['file:', (path) => pathToFileURL(path).href],
  ])('makes a file that an application can start on, named by %s', async (_how, name) => {
    const path = fresh();
    const made = await said(['migrate', '--service', 'shop', '--database', name(path)]);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toContain(`Database: SQLite ${path} (--database)`);
    expect(made.stdout).toMatch(/^Migrated: version \d+ \(was none\): tables/m);
    const database = new Database(path);
    await sqliteStore({ service: 'shop', database }).ready();
    database.close();
    expect((await said(['migrate', '--service', 'shop', '--database', name(path)])).stdout).toContain(
      'There was nothing to do.',
    );
  });

  it('--status makes no file, and tells 3 from 0', async () => {
    const path = fresh();
    const before = await said(['migrate', '--status', '--database', path]);
    expect(before).toMatchObject({ code: 3, stderr: '' });
    expect(before.stdout).toContain('Version found: none, needed: ');
    expect(existsSync(path)).toBe(false);
    await said(['migrate', '--service', 'shop', '--database', path]);
    expect(await said(['migrate', '--status', '--database', path])).toMatchObject({ code: 0, stderr: '' });
  });

  it('finds what the store names: the command of its message mends it', async () => {
    const path = fresh();
    const database = new Database(path);
    const store = sqliteStore({ service: 'shop', database });
    const refused: unknown = await store.ready().catch((error: unknown) => error);
    const command = /`npx samekey (migrate[^`]*)`/.exec(String(refused))?.[1];
    expect(command).toBe('migrate --service shop');
    expect((await said(String(command).split(' '), { SAMEKEY_DATABASE_URL: path })).code).toBe(0);
    await store.ready();
    database.exec('PRAGMA journal_mode = DELETE');
    expect((await said(['migrate', '--status', '--database', path])).stdout).toContain('journal mode WAL');
    database.close();
  });

  // F116
  it('a file is one service’s: another is refused, and a restored copy is given away under a name of its own', async () => {
    const path = fresh();
    const run = (...args: readonly string[]): ReturnType<typeof said> =>
      said(['migrate', '--database', path, ...args]);
    expect((await run()).stderr).toMatch(/has not been given to a service: name.*--service orders/);
    expect((await run('--service', 'shop')).code).toBe(0);
    const before = JSON.parse((await run('--status', '--json')).stdout) as { databaseId: string };
    expect(before).toMatchObject({ service: 'shop' });
    // Whoever has tables names nobody, and changes nobody.
    expect((await run()).code).toBe(0);
    for (const args of [[], ['--status']]) {
      const refused = await run('--service', 'billing', ...args);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/belongs to the service "shop".*--service billing --new-identity/);
    }
    expect((await run('--new-identity')).stderr).toContain('--new-identity goes with --service');
    expect((await run('--service', 'billing', '--new-identity')).code).toBe(0);
    const after = JSON.parse((await run('--status', '--json')).stdout) as { databaseId: string };
    expect(after).toMatchObject({ service: 'billing' });
    expect(after.databaseId).not.toBe(before.databaseId);
  });

  it('may be run by five at once', async () => {
    const path = fresh();
    const runs = await Promise.all(
      Array.from({ length: 5 }, () => said(['migrate', '--service', 'shop', '--database', path])),
    );
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array.from({ length: 5 }, () => ({ code: 0, stderr: '' })),
    );
  });

  it('what --print prints makes a file that is up to date', async () => {
    const path = fresh();
    const { code, stdout } = await said(['migrate', '--service', 'shop', '--print', '--database', path]);
    expect([code, existsSync(path)]).toEqual([0, false]);
    const database = new Database(path);
    database.exec(stdout);
    database.close();
    expect((await said(['migrate', '--status', '--database', path])).code).toBe(0);
    expect(
      (await said(['migrate', '--service', 'shop', '--print', '--from', '99', '--database', path])).stdout,
    ).toBe('');
  });

  it('says in one line what cannot be used', async () => {
    const text = fresh();
    writeFileSync(
      text,
      'no database, whatever its name says, and longer than a header of one would be: '.repeat(9),
    );
    for (const [path, pattern] of [
      [text, /not an SQLite database|SQLITE_NOTADB/],
      [join(folder.dir, 'no', 'such', 'folder.db'), /cannot be used.*its folder must be there/],
    ] as const) {
      const failed = await said(['migrate', '--service', 'shop', '--database', path]);
      expect(failed).toMatchObject({ code: 1, stdout: '' });
      expect(failed.stderr.trimEnd().split('\n'), failed.stderr).toHaveLength(1);
      expect(failed.stderr).toMatch(pattern);
    }
    expect(readdirSync(folder.dir)).not.toContain('no');
  });

  it.each([
    [['--print', '--status'], /two questions/],
    [['--from', '1'], /goes with --print/],
    [['--print', '--json'], /--print prints SQL/],
    [['--schema', 'x'], /no schemas/],
    [['--print', '--from', 'x'], /number of a version/],
  ])('refuses %j', async (args, pattern) => {
    const refused = await said(['migrate', ...args, '--database', 'keys.db']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(pattern);
  });

  it('names the variables when no database is named', async () => {
    const refused = await said(['migrate']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^samekey: .*--database.*SAMEKEY_DATABASE_URL.*DATABASE_URL[^\n]*\n$/);
  });
});

describe('the database that is meant', () => {
  const env = { SAMEKEY_DATABASE_URL: 'postgres://a@one/x', DATABASE_URL: 'postgres://a@two/x' };

  it('is that of the option, then SAMEKEY_DATABASE_URL, then DATABASE_URL', () => {
    expect(findAddress('keys.db', env)).toMatchObject({ from: '--database', kind: 'sqlite' });
    expect(findAddress(undefined, env)).toMatchObject({ from: 'SAMEKEY_DATABASE_URL', shown: 'one/x' });
    const { DATABASE_URL } = env;
    expect(findAddress(undefined, { SAMEKEY_DATABASE_URL: '', DATABASE_URL })).toMatchObject({
      from: 'DATABASE_URL',
      shown: 'two/x',
    });
  });

  it.each([
    ['postgres://u:hunter2@h:5433/app?sslmode=require', 'h:5433/app'],
    ['postgresql:///app?host=/var/run/postgresql&password=hunter2', '/var/run/postgresql/app'],
    ['postgres://u:hunter2@h', 'h/u'],
  ])('is shown without its password: %s', (url, shown) => {
    expect(findAddress(url, {})).toEqual({ kind: 'postgres', url, shown, from: '--database' });
  });

  it.each([
    'postgres://u:hunter#2@h/app',
    'postgres://u:12#hunter@h/app',
    'postgres://u:12/hunter@h/app',
    'postgres://u:12?hunter@h/app',
    'postgres://u:hunter 2@h:port/app',
    'mysql://u:hunter#2@h/app',
    'oracle://u:hunter2@h/app',
    'sqlite:keys.db?key=hunter2',
    'file:%E0hunter',
  ])('is refused without being repeated when it cannot be read: %s', (url) => {
    const refusal = failure(() => findAddress(url, {}));
    expect(refusal).toBeInstanceOf(CliError);
    expect((refusal as CliError).message).toMatch(/^--database /);
    expect((refusal as CliError).message).not.toMatch(/hunter|12/);
  });

  it.each(['', ':memory:', 'sqlite::memory:'])('is not a database in memory: "%s"', (name) => {
    expect(String(failure(() => findAddress(name, {})))).toContain('nothing to migrate');
  });
});

function failure(body: () => unknown): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  return undefined;
}
