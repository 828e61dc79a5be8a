/** Records found by what a provider has of their calls, on SQLite and PostgreSQL; and by nothing where no store keeps that. */

import type { Store } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open } from '../../cli/test/operating.ts';
import { called } from './called.ts';
import { SECRET, type Served, serveConsole } from './serving.ts';

for (const kind of kinds()) {
  describe(`a search by reference: ${kind.name}`, () => {
    let app: Opened;
    let served: Served;

    beforeAll(async () => {
      await kind.start();
      app = await open(await kind.fresh());
      const { store } = app.samekey;
      served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice' } });
      await called(store, { scope: 'acme/a|order', key: 'k-1' }, 'downstream-key', 'sk_down_1');
      await called(store, { scope: 'acme/a|order', key: 'k-2' }, 'provider-id', 'pi_1');
      await called(store, { scope: 'acme/b|order', key: 'k-3', operation: 'refund' }, 'provider-id', 'pi_1');
    });
    afterAll(async () => {
      await served.close();
      await app.close();
      await kind.stop();
    });

    async function keysOf(filter: object): Promise<readonly string[]> {
      const { status, body } = await served.ask('records', filter);
      expect(status).toBe(200);
      expect(body).toMatchObject({ cursor: null, isCut: false });
      return body.rows.map(({ key }: { key: string }) => key).toSorted();
    }

    it('finds a record by the key that its call carried, and by what the provider calls it', async () => {
      expect((await served.ask('me')).body).toMatchObject({ keepsReferences: true });
      expect(await keysOf({ reference: 'sk_down_1' })).toEqual(['k-1']);
      expect(await keysOf({ reference: 'pi_1' })).toEqual(['k-2', 'k-3']);
      expect(await keysOf({ reference: 'pi_2' })).toEqual([]);
    });

    it('finds among those what else is asked for', async () => {
      expect(await keysOf({ reference: 'pi_1', caller: 'acme/b' })).toEqual(['k-3']);
      expect(await keysOf({ reference: 'pi_1', operation: 'order' })).toEqual(['k-2']);
      expect(await keysOf({ reference: 'pi_1', states: ['completed'] })).toEqual([]);
    });

    it('says so where the store keeps none', async () => {
      const without: Store = Object.create(app.samekey.store, { references: { value: undefined } });
      const other = await serveConsole({ store: without, token: { secret: SECRET, actor: 'alice' } });
      expect((await other.ask('me')).body).toMatchObject({ keepsReferences: false });
      const answer = await other.ask('records', { reference: 'pi_1' });
      expect(answer).toMatchObject({ status: 400, body: { code: 'no-references' } });
      await other.close();
    });
  });
}
