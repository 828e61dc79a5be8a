/** What both examples on PostgreSQL must do, on a server that npm brings along: first `samekey migrate`, then orders. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  anyPostgres,
  type PostgresServer,
  startPostgres,
} from '../packages/samekey/test/services/postgres.ts';
import { type RunningExample, startExample } from './running-example.ts';

const COMMAND = fileURLToPath(new URL('../packages/cli/bin/samekey.js', import.meta.url));

/** Describes the example whose script this is, below `examples/`. */
export function ordersOnPostgres(script: string): void {
  const source = anyPostgres();
  describe.runIf(source !== undefined)(script, () => {
    let server: PostgresServer;
    let url: string;
    let example: RunningExample | undefined;
    beforeAll(async () => {
      server = await startPostgres(source as NonNullable<typeof source>);
      url = await server.createDatabase();
    });
    afterAll(async () => {
      await example?.stop();
      await server.stop();
    });
    const started = (): RunningExample => example as RunningExample;
    const start = async (): Promise<void> => {
      example = await startExample(script, { DATABASE_URL: url });
    };

    it('does not start before `samekey migrate`, and names it; starts after it', async () => {
      const refused = await run([fileURLToPath(new URL(script, import.meta.url))], {
        DATABASE_URL: url,
        PORT: '0',
      });
      expect(refused.code).not.toBe(0);
      const command = /`npx samekey (migrate[^`]*)`/.exec(refused.stderr)?.[1];
      expect(command, refused.stderr).toBe('migrate --service shop');
      expect(await run([COMMAND, ...String(command).split(' ')], { DATABASE_URL: url })).toMatchObject({
        code: 0,
        stderr: '',
      });
      await start();
    });

    it('answers a retry with the stored bytes and inserts one row', async () => {
      const first = await started().order('tea', 'tea');
      expect(first).toMatchObject({ status: 201, replayed: null });
      expect(await started().order('tea', 'tea')).toEqual({ ...first, replayed: 'true' });
      const listed = await fetch(`${started().origin}/orders`, { headers: { Authorization: 'Bearer acme' } });
      expect(await listed.json()).toEqual([JSON.parse(first.text)]);
    });

    it('gives two orders at once under one key one answer', async () => {
      const both = await Promise.all([started().order('twice', 'tea'), started().order('twice', 'tea')]);
      expect(both.map(({ status }) => status)).toEqual([201, 201]);
      expect(both[0]?.text).toBe(both[1]?.text);
    });

    it('refuses the same key with another item', async () => {
      await started().order('once', 'tea');
      expect((await started().order('once', 'coffee')).status).toBe(422);
    });

    it('gives another account with the same key an order of its own', async () => {
      const ours = await started().order('shared', 'tea');
      const theirs = await started().order('shared', 'tea', 'globex');
      expect(theirs).toMatchObject({ status: 201, replayed: null });
      expect(theirs.text).not.toBe(ours.text);
    });

    it('ends cleanly and replays after a restart', async () => {
      const first = await started().order('kept', 'tea');
      expect(await started().stop()).toBe(0);
      await start();
      expect(await started().order('kept', 'tea')).toEqual({ ...first, replayed: 'true' });
    });
  });
}

/** Runs a script to its end. */
async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...env } });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}
