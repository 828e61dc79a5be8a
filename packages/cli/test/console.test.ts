/** `samekey console` as a process: on this machine alone, looking only unless more is allowed, and stopped by a signal. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, open, request } from './operating.ts';
import { Command } from './running-demo.ts';

const SENT = { 'content-type': 'application/json', 'x-samekey-console': '1' };

for (const kind of kinds()) {
  describe(`samekey console: ${kind.name}`, () => {
    let database: string;
    beforeAll(async () => {
      await kind.start();
      database = await kind.fresh();
      const app = await open(database);
      await request(app, 'k-1', 500);
      await app.close();
    });
    afterAll(() => kind.stop());

    it.each([
      [[], 'looking only', 403],
      [['--allow', 'settle', '--actor', 'alice'], 'settle, as alice', 200],
    ] as const)('with %j: %s', async (flags, rights, status) => {
      const command = new Command(['console', '--database', database, '--port', '0', ...flags]);
      const [, url = ''] = await command.line(/^Open: +(http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43})$/);
      expect(command.stdout).toContain(`Rights: ${rights}`);
      const [origin = '', token = ''] = url.split('/#token=');
      const ask = (verb: string, body: object, secret = token) =>
        fetch(`${origin}/api/${verb}`, {
          method: 'POST',
          headers: { ...SENT, authorization: `Bearer ${secret}` },
          body: JSON.stringify(body),
        });
      expect((await ask('records', {}, 'x'.repeat(43))).status).toBe(401);
      const { rows } = (await (await ask('records', { states: ['unknown'] })).json()) as {
        rows: readonly { scope: string; key: string; claimId: string; attempt: number }[];
      };
      expect(rows.map(({ key }) => key)).toEqual(['k-1']);
      const { scope, key, claimId, attempt } = rows[0]!;
      const act = { act: 'settle', to: 'completed', response: null, seen: { claimId, attempt }, scope, key };
      expect((await ask('act', { ...act, reason: 'seen at the provider' })).status).toBe(status);
      command.child.kill('SIGTERM');
      expect(await command.ended()).toBe(0);
    });
  });
}
