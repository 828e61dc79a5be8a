/** Answers that no item can hold (F50). */

import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  claimed,
  claimRequest,
  finishRequest,
  ID,
  only,
  recordOf,
} from '../../src/testing/contract/context.ts';
import { availableDynamoDb, fileBodies } from '../services/dynamodb.ts';
import { dynamoBench } from './dynamodb-bench.ts';

describe.each(availableDynamoDb())('DynamoDB, large answers: $name', (source) => {
  const bench = dynamoBench(source);

  describe('large answers (F50)', () => {
    const large = { ...ANSWER, body: new Uint8Array(900_000).fill(7) };

    it('without a body store an answer that no item holds is stored without its body', async () => {
      const store = bench.open();
      const owner = await claimed(store);
      expect(only(await store.finish([finishRequest(owner, 'completed', { response: large })])).kind).toBe(
        'applied',
      );
      expect((await recordOf(store)).response).toEqual({ ...large, body: null });
      const input = new Uint8Array(900_000);
      await expect(store.claim([claimRequest({ key: 'k', input })])).rejects.toMatchObject({
        applied: 'no',
        transient: false,
      });
    });

    it('with one it comes back to the byte, goes with its record, and is met as not kept when its bytes are gone', async () => {
      const bodies = fileBodies();
      const store = bench.open({ bodies });
      const owner = await claimed(store, { input: large.body });
      await store.finish([finishRequest(owner, 'completed', { response: large })]);
      const record = await recordOf(store);
      expect([record.response?.body?.length, record.input?.length]).toEqual([900_000, 900_000]);
      expect(readdirSync(bodies.folder)).toHaveLength(2);
      await store.erase({ scope: ID.scope, limit: 10, reason: 'asked', actor: null });
      expect(readdirSync(bodies.folder)).toEqual([]);

      const next = await claimed(store, { key: 'k' });
      await store.finish([finishRequest(next, 'completed', { response: large })]);
      bodies.remove();
      expect((await recordOf(store, next)).response).toEqual({ ...large, body: null });
    });
  });
});
