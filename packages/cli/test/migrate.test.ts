/** `samekey migrate` as a process of its own, on real PostgreSQL servers. */

import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  availablePostgres,
  type PostgresServer,
  startPostgres,
} from '../../samekey/test/services/postgres.ts';
import { MIGRATIONS as ALL, NEEDED, said } from './migrating.ts';

/** Never the real one: messages are searched for it. */
const PASSWORD = 'hunter2-hunter2';
const NOWHERE = { SAMEKEY_DATABASE_URL: '', DATABASE_URL: '' };

for (const source of availablePostgres()) {
  describe(`samekey migrate: ${source.name}`, () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres(source);
    });
    afterAll(() => server.stop());

    /** The URL of an empty database, with a password that the server does not ask for. */
    async function fresh(): Promise<string> {
      const url = new URL(await server.createDatabase());
      url.password = PASSWORD;
      return url.href;
    }

    it('makes the tables, and a second run has nothing to do', async () => {
      const url = await fresh();
      const first = await said(['migrate', '--service', 'shop', '--database', url]);
      expect(first).toMatchObject({ code: 0, stderr: '' });
      expect(first.stdout).toMatch(/^Database: PostgreSQL 127\.0\.0\.1:\d+\/samekey_\w+ \(--database\)$/m);
      expect(first.stdout).toContain(`Migrated: version ${NEEDED} (was none): ${ALL.join(', ')}.`);
      const second = await said(['migrate', '--service', 'shop', '--database', url]);
      expect(second).toMatchObject({ code: 0, stderr: '' });
      expect(second.stdout).toContain(`Up to date: version ${NEEDED}. There was nothing to do.`);
      for (const { stdout } of [first, second]) expect(stdout).not.toContain(PASSWORD);
    });

    it('--engine makes the tables of the distributed store, says how far they are, and prints their SQL', async () => {
      const url = await fresh();
      const run = (...args: readonly string[]): ReturnType<typeof said> =>
        said(['migrate', '--service', 'shop', '--database', url, '--engine', 'other', ...args]);
      expect(await run('--status')).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('Run: npx samekey migrate --service shop --engine other') as unknown,
      });
      expect(await run()).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Migrated: version 1 (was none): tables.') as unknown,
      });
      expect(await run('--status')).toMatchObject({ code: 0 });
      const printed = await said([
        'migrate',
        '--service',
        'shop',
        '--database',
        url,
        '--engine',
        'citus',
        '--print',
      ]);
      expect(printed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('create_distributed_table') as unknown,
      });
      for (const wrong of [
        ['--engine', 'oracle'],
        ['--engine', 'other', '--audit-transitions'],
        ['--engine', 'citus'],
      ]) {
        const { code, stderr } = await said(['migrate', '--service', 'shop', '--database', url, ...wrong]);
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringMatching(/engine|citus/) as unknown,
        });
      }
    });

    it('--audit-transitions installs the triggers, --no-audit-transitions removes them, neither touches them', async () => {
      const url = await fresh();
      const triggers = async (...args: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await said([
          'migrate',
          '--service',
          'shop',
          '--database',
          url,
          ...args,
        ]);
        expect({ code, stderr }).toEqual({ code: args.includes('--status') ? code : 0, stderr: '' });
        return `${code} ${stdout}`;
      };
      expect(await triggers('--audit-transitions')).toContain(
        `: ${[...ALL, 'audit-transitions'].join(', ')}.`,
      );
      expect(await triggers()).toContain('There was nothing to do');
      expect(await triggers('--status', '--audit-transitions')).toMatch(/^0 /);
      const status = await triggers('--status', '--no-audit-transitions');
      expect(status).toMatch(
        /^3 [^]*Missing: audit-transitions\. Run: npx samekey migrate --no-audit-transitions/,
      );
      expect(await triggers('--no-audit-transitions')).toContain(': audit-transitions.');
      expect(await triggers('--status', '--audit-transitions')).toMatch(/^3 /);
      const printed = await said([
        'migrate',
        '--print',
        '--audit-transitions',
        '--from',
        String(NEEDED),
        '--database',
        url,
      ]);
      expect(printed).toMatchObject({ code: 0, stderr: '' });
      expect(printed.stdout).toContain('CREATE OR REPLACE TRIGGER');
    });

    it('may be run by five at once', async () => {
      const url = await fresh();
      const runs = await Promise.all(
        Array.from({ length: 5 }, () => said(['migrate', '--service', 'shop', '--database', url])),
      );
      expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        Array.from({ length: 5 }, () => ({ code: 0, stderr: '' })),
      );
      expect((await said(['migrate', '--status', '--database', url])).code).toBe(0);
    });

    it('--status says before and after what is found, needed and missing, by its exit code too, and changes nothing', async () => {
      const url = await fresh();
      const before = await said(['migrate', '--status', '--database', url]);
      expect(before).toMatchObject({ code: 3, stderr: '' });
      expect(before.stdout).toContain(`Version found: none, needed: ${NEEDED}`);
      expect(before.stdout).toContain(
        `Missing: ${ALL.join(', ')}. Run: npx samekey migrate --service <name>`,
      );
      expect((await said(['migrate', '--status', '--database', url])).code).toBe(3);
      await said(['migrate', '--service', 'shop', '--database', url]);
      const after = await said(['migrate', '--status', '--database', url]);
      expect(after).toMatchObject({ code: 0, stderr: '' });
      expect(after.stdout).toContain(`Version found: ${NEEDED}, needed: ${NEEDED}`);
      expect(after.stdout).toContain('Up to date.');
    });

    it('--json says the same to programs', async () => {
      const env = { ...NOWHERE, DATABASE_URL: await fresh() };
      const look = async (...args: readonly string[]): Promise<unknown> =>
        JSON.parse((await said(['migrate', '--service', 'shop', '--json', ...args], env)).stdout);
      const found = { kind: 'postgres', from: 'DATABASE_URL', needed: NEEDED };
      const missing = { version: 0, missing: ALL, upToDate: false };
      expect(await look('--status')).toMatchObject({ ...found, ...missing });
      expect(await look()).toMatchObject({ ...found, was: 0, version: NEEDED, applied: ALL, missing: [] });
      expect(await look('--status')).toMatchObject({
        ...found,
        version: NEEDED,
        missing: [],
        upToDate: true,
      });
    });

    it('what --print prints makes a database that is up to date', async () => {
      const url = await fresh();
      const printed = await said(['migrate', '--service', 'shop', '--print', '--database', url]);
      expect(printed).toMatchObject({ code: 0, stderr: '' });
      expect((await said(['migrate', '--status', '--database', url])).code).toBe(3);
      await execute(url, printed.stdout);
      expect(await said(['migrate', '--status', '--database', url])).toMatchObject({ code: 0, stderr: '' });
      const rest = await said([
        'migrate',
        '--service',
        'shop',
        '--print',
        '--from',
        String(NEEDED),
        '--database',
        url,
      ]);
      expect(rest).toMatchObject({ code: 0, stdout: '' });
      expect(rest.stderr).toContain(`no migration after version ${NEEDED}`);
    });

    it('--schema has tables of its own, printed ones too', async () => {
      const url = await fresh();
      await said(['migrate', '--service', 'shop', '--database', url]);
      const schema = ['--schema', 'idem-One', '--database', url];
      const missing = await said(['migrate', '--status', ...schema]);
      expect(missing.code).toBe(3);
      expect(missing.stdout).toContain('npx samekey migrate --service <name> --schema idem-One');
      const { stdout: sql } = await said(['migrate', '--service', 'shop', '--print', ...schema]);
      expect(sql).toMatch(/^-- First, if it is not there: CREATE SCHEMA "idem-One";$/m);
      await execute(url, `CREATE SCHEMA "idem-One"; ${sql}`);
      expect((await said(['migrate', '--status', ...schema])).code).toBe(0);
      const other = await said(['migrate', '--service', 'shop', '--schema', 'two', '--database', url]);
      expect(other.stdout).toContain(`Migrated: version ${NEEDED}`);
    });

    it('--status fails with what mends it when the tables are there and do not fit', async () => {
      const url = await fresh();
      await said(['migrate', '--service', 'shop', '--database', url]);
      await execute(url, 'ALTER TABLE samekey_records DROP CONSTRAINT samekey_records_pkey');
      const status = await said(['migrate', '--status', '--database', url]);
      expect(status).toMatchObject({ code: 1, stdout: '' });
      expect(status.stderr).toMatch(/^samekey: .*no unique index.*ADD PRIMARY KEY \(scope, key\)[^\n]*\n$/);
    });

    it('a schema that newer code has made is refused, not touched', async () => {
      const url = await fresh();
      await said(['migrate', '--service', 'shop', '--database', url]);
      await execute(url, 'UPDATE samekey_meta SET value = 99');
      for (const args of [['migrate'], ['migrate', '--status']]) {
        const refused = await said([...args, '--database', url]);
        expect(refused.code).toBe(1);
        expect(refused.stderr).toMatch(/^samekey: .*version 99.*update samekey[^\n]*\n$/);
      }
    });
  });
}

for (const source of availablePostgres().slice(0, 1)) {
  describe('samekey migrate and a server that does not do what it should', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres(source);
    });
    afterAll(() => server.stop());

    it('says in one line, without the password, that a database is not there', async () => {
      const url = new URL(server.url('nowhere'));
      url.password = PASSWORD;
      await expectOneLine(
        url.href,
        /code 3D000.*check user, password and database.*"nowhere" does not exist/,
      );
    });

    it('says in one line, without the password, that the server is down', async () => {
      const url = new URL(await server.createDatabase());
      url.password = PASSWORD;
      await server.kill();
      await expectOneLine(
        url.href,
        /code ECONNREFUSED.*check that it is up.*connect ECONNREFUSED 127\.0\.0\.1/,
      );
      await server.restart();
    });
  });
}

async function expectOneLine(url: string, pattern: RegExp): Promise<void> {
  for (const args of [['migrate'], ['migrate', '--status']]) {
    const failed = await said([...args, '--database', url]);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(failed.stderr).toMatch(pattern);
    expect(failed.stderr).not.toContain(PASSWORD);
  }
}

/** Runs SQL as a tool of the user's own would. */
async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    // As psql sends it: an index that is built beside the traffic cannot share a message with other statements.
    for (const statement of sql.split(/;\n/)) await client.query(statement);
  } finally {
    await client.end();
  }
}
