/** Clients that mint a key per try are found by their fingerprints, on SQLite and PostgreSQL. */

import type { Store } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import { SECRET, type Served, serveConsole } from './serving.ts';

for (const kind of kinds()) {
  describe(`same fingerprint, new key: ${kind.name}`, () => {
    let app: Opened;
    let served: Served;

    beforeAll(async () => {
      await kind.start();
      app = await open(await kind.fresh());
      served = await serveConsole({ store: app.samekey.store, token: { secret: SECRET, actor: 'alice' } });
      const send = (key: string, amount: number, more: object = {}) =>
        request(app, key, 201, { scope: ['acme', 'bob'], body: { amount }, ...more });
      for (const key of ['try-1', 'try-2', 'try-3']) await send(key, 12);
      await send('other-amount', 13);
      await send('other-operation', 12, { operation: 'POST /refunds' });
      await send('other-caller', 12, { scope: ['acme', 'carol'] });
    });
    afterAll(async () => {
      await served.close();
      await app.close();
      await kind.stop();
    });

    it('finds keys of one caller and operation with one content, and how far it looked', async () => {
      const { body } = await served.ask('minted', { caller: 'acme/bob' });
      expect(body).toMatchObject({ looked: 5, isCut: false, groups: [{ count: 3 }] });
      expect(body.groups[0].rows.map(({ key }: { key: string }) => key).toSorted()).toEqual([
        'try-1',
        'try-2',
        'try-3',
      ]);
    });

    it('says that there may be more where more are of one millisecond than can be listed', async () => {
      const { store } = app.samekey;
      const [record] = await store.list({ limit: 1 });
      const all = Array.from({ length: 1_500 }, (_, i) => ({ ...record, key: `k-${i}` }));
      const crowded: Store = Object.create(store, {
        list: { value: async ({ limit = 100 }: { limit?: number }) => all.slice(0, limit) },
      });
      const at = await serveConsole({ store: crowded, token: { secret: SECRET, actor: 'alice' } });
      const { body } = await at.ask('minted', { caller: 'acme/bob' });
      await at.close();
      expect(body).toMatchObject({ looked: 1_000, isCut: true });
    });

    it('finds none where each content has one key, and looks at no caller that is not named', async () => {
      expect((await served.ask('minted', { caller: 'acme/carol' })).body).toMatchObject({
        looked: 1,
        groups: [],
      });
      expect((await served.ask('minted')).status).toBe(400);
    });
  });
}
