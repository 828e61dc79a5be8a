/** What ends claims on SQLite is watching them: whom the watch must not confuse. */

import { describe, expect, it } from 'vitest';
import {
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  finishRequest,
  renewRequest,
} from '../../../testing/src/contract/context.ts';
import { availableClients, sqliteHarness } from './sqlite-clients.ts';

const RESUME = { whenClaimEnds: 'resume' } as const;

describe.each(availableClients())('sqlite with $name, watching', ({ name, open }) => {
  // Seed 17131 of the simulator. F15: the reply to the first claim was lost, and its repetition comes late.
  it('a claimId that comes again with a later attempt has the whole time of its claim, whoever saw it before', async () => {
    const t = await sqliteHarness(name, open).create();
    try {
      const other = (await t.another?.({ wallOffsetMs: 0 })) ?? expect.fail('SQLite files are shared');
      const first = claimRequest(RESUME);
      const [granted] = await t.store.claim([first]);
      expect(granted).toMatchObject({ kind: 'claimed', attempt: 1 });
      expect(await other.sweep(10)).toEqual([]);
      await t.store.finish([finishRequest({ ...first, attempt: 1 }, 'retryable')]);
      const second = await claimed(t.store, RESUME);
      await t.store.finish([finishRequest(second, 'retryable')]);
      await t.advance(CLAIM_TTL_MS - 1_000);
      const [again] = await t.store.claim([first]);
      expect(again).toMatchObject({ kind: 'claimed', attempt: 3 });
      await t.advance(2_000);
      expect(await other.sweep(10)).toEqual([]);
      const owner = { ...first, attempt: 3 };
      expect(await t.store.renew([renewRequest(owner)])).toEqual([{ kind: 'renewed' }]);
      await t.advance(CLAIM_TTL_MS);
      // Seen anew with the renewal, it is over one claim later.
      expect(await other.sweep(10)).toEqual([]);
      await t.advance(CLAIM_TTL_MS);
      expect(await other.sweep(10)).toHaveLength(1);
    } finally {
      await t.close();
    }
  });
});
