/** Passwords in the environment and on the command line are printed by no command, whatever else is wrong with them (F93). */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findAddress } from '../src/database/address.ts';
import { secretsOf, withoutSecrets } from '../src/secrets.ts';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';

const SECRET = 'hunter2-Zoë';
const LEAK = /hunter2|Zoë|Zo%C3%AB/;
/** Nothing listens there. */
const HOST = '127.0.0.1:1';

const folder = freshFolder();
afterAll(() => folder.remove());

/** Each command that works on a database, with what else it needs. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  migrate: [],
  inspect: [],
  settle: ['k', '--as', 'failed', '--reason', 'r'],
  reopen: ['k', '--reason', 'r'],
  forget: ['k', '--reason', 'r'],
  erase: ['--caller', 'c', '--reason', 'r'],
  requeue: ['m', '--reason', 'r'],
  drop: ['m', '--reason', 'r'],
  audit: [],
  doctor: [],
  janitor: ['--once'],
  worker: [],
  reconcile: [],
  'compare-ledger': ['ledger.csv'],
};

/** One for each way to a driver: the others share it. */
const CONNECTING = new Set(['migrate', 'inspect', 'doctor']);

const ADDRESSES: readonly string[] = [
  `"postgres://u:${SECRET}@${HOST}/app"`,
  `'mysql://u:${SECRET}@${HOST}/app'`,
  ` postgres://u:${SECRET}@${HOST}/app`,
  `postgres://u:${SECRET}@${HOST}/app\n`,
  `postgres//u:${SECRET}@${HOST}/app`,
  `postgres:/u:${SECRET}@${HOST}/app`,
  `postgres:u:${SECRET}@${HOST}/app`,
  `//u:${SECRET}@${HOST}/app`,
  `u:${SECRET}@${HOST}/app`,
  `user:${SECRET}@${HOST}/app`,
  `mysql//u:${SECRET}@${HOST}/app`,
  `=postgres://u:${SECRET}@${HOST}/app`,
  `postgres ://u:${SECRET}@${HOST}/app`,
  `postgres://u:${SECRET}`,
  `postgres:///u:${SECRET}`,
  `${SECRET}://u:${SECRET}@${HOST}/app`,
];

describe('addresses that cannot be read', () => {
  // F93
  it.each(ADDRESSES)('are refused by what is wrong, and not repeated: %s', (address) => {
    let message = '';
    try {
      findAddress(undefined, { DATABASE_URL: address });
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toMatch(/^DATABASE_URL .*not repeated/);
    expect(message).not.toMatch(LEAK);
  });

  it.each(['/data/@acme/keys.db', 'postgres.db', './mysql/keys.db', 'C:\\data\\keys.db'])(
    'do not include paths: %s',
    (path) => {
      expect(findAddress(path, {})).toMatchObject({ kind: 'sqlite', path });
    },
  );
});

describe('no command prints a password', () => {
  // F93
  it.each(Object.entries(COMMANDS))(
    '%s',
    async (command, args) => {
      const good = `postgres://u:${encodeURIComponent(SECRET)}@${HOST}/app`;
      const runs: (readonly [args: readonly string[], env: Readonly<Record<string, string>>])[] = [
        [[command, ...args], { DATABASE_URL: `"${good}"` }],
        // Mistakes of the command line, which its reader repeats.
        [[command, ...args, `--databse=${good}`, good], {}],
        ...(CONNECTING.has(command) ? ([[[command, ...args, '--database', good], {}]] as const) : []),
      ];
      for (const [line, env] of runs) {
        const { code, stdout, stderr } = await said(line, env);
        expect(code, stderr).not.toBe(0);
        expect(`${stdout}${stderr}`).not.toMatch(LEAK);
        expect(stderr.trim() || stdout.trim()).not.toBe('');
      }
    },
    180_000,
  );

  // F93
  it('that a module of the application throws with', async () => {
    const path = join(folder.dir, 'app.mjs');
    writeFileSync(
      path,
      'export default () => { throw new Error(`Invalid URL: ${process.env.REDIS_URL}`); };',
    );
    const { code, stderr } = await said(['doctor', '--app', path], {
      REDIS_URL: `redis://:${SECRET}@${HOST}/"0`,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/failed: Invalid URL/);
    expect(stderr).not.toMatch(LEAK);
  });

  it('that stands where a command should', async () => {
    const { code, stderr } = await said([`postgres://u:${SECRET}@${HOST}/app`]);
    expect(code).not.toBe(0);
    expect(stderr).not.toMatch(LEAK);
  });
});

describe('what is hidden', () => {
  it('are addresses with a password, passwords in them as they are written and as they are meant, and variables that hold one', () => {
    const env = {
      DATABASE_URL: 'postgres://u:p%40ss1@h/app',
      CACHE_URI: 'redis://h/0?password=s3cret',
      PGPASSWORD: 'pw-9',
      PWD: '/home/u1',
      HOME_URL: 'https://example.com/1',
    };
    const secrets = secretsOf(env, ['--database=mysql://u:x:y@z1@h/app']);
    const inOrder = [
      'postgres://u:p%40ss1@h/app',
      'mysql://u:x:y@z1@h/app',
      'p%40ss1',
      's3cret',
      'x:y@z1',
      'p@ss1',
      'pw-9',
    ];
    expect(secrets.toSorted()).toEqual(inOrder.toSorted());
    expect(secrets.map(({ length }) => length)).toEqual(inOrder.map(({ length }) => length));
  });

  it('are not plain words, which any sentence may hold', () => {
    expect(secretsOf({ DATABASE_URL: 'postgres://samekey:samekey@h/samekey' }, [])).toEqual([
      'postgres://samekey:samekey@h/samekey',
    ]);
  });

  it('is the user’s part of any other address', () => {
    expect(withoutSecrets('connect to amqp://guest:gu3st@h:5672/ failed')).toBe(
      'connect to amqp://guest:…@h:5672/ failed',
    );
  });
});
