/** The state table, row by row, and the fence of every verb. */

import assert from 'node:assert/strict';
import { isErased, REOPEN_DELAY_MS, type RecordId } from 'samekey/internals/core/record';
import { type AddTest, finishRequest, forgetAsSeen, only, type StoreUnderTest } from './context.ts';
import {
  arrange,
  checkRow,
  HAND_OVER,
  isGivenWithin,
  look,
  OWN,
  perform,
  performWithin,
} from './state-bench.ts';
import { SITUATIONS, stateTableRows } from './state-table.ts';

export function stateTests(test: AddTest): void {
  const rows = stateTableRows(SITUATIONS);
  const commands = [...new Set(rows.map((row) => row.command))];
  for (const command of commands.filter((one) => one !== HAND_OVER)) {
    test(`"${command}" does in every situation what the state table says`, async (t) => {
      for (const row of rows.filter((one) => one.command === command)) {
        // In a scope of its own: erasing is given no key.
        const id = { scope: `states-${row.situation}`, key: row.situation };
        await arrange(t, row.situation, id);
        await checkRow(t, row, id);
        // A sweep and a reap are given no id: nothing may be left for the next row's.
        await clear(t, id);
      }
    });
  }

  for (const command of commands.filter(isGivenWithin)) {
    test(`"${command}" inside a transaction does in every situation what the state table says`, async (t) => {
      if (!isTransactional(t)) return;
      for (const row of rows.filter((one) => one.command === command)) {
        const id = { scope: `within-${row.situation}`, key: row.situation };
        await arrange(t, row.situation, id);
        await checkRow(t, row, id, performWithin);
        await clear(t, id);
      }
    });
  }

  // F5, F6: the same process may hold a newer claim; the claimId tells them apart. Attempt numbers may start again after a
  // deletion: both are compared.
  for (const [what, fence] of [
    ['another claimId', { ...OWN, claimId: 'claim-of-somebody-else' }],
    ['another attempt number', { ...OWN, attempt: OWN.attempt + 1 }],
  ] as const) {
    test(`a write with ${what} is refused by every verb in every situation and changes nothing`, async (t) => {
      for (const situation of SITUATIONS) {
        const id = { scope: 'fences', key: situation };
        await arrange(t, situation, id);
        const before = await look(t, id);
        for (const command of commands) {
          if (/^(claim|sweep|take|erase|reap|hand)/.test(command)) continue;
          const result = await perform(t, command, id, fence);
          const expected =
            command === 'renew' ? 'lost' : command === 'forget' && before === null ? 'already' : 'refused';
          assert.equal(result, expected, `${command} / ${situation}`);
          assert.deepEqual(await look(t, id), before, `${command} / ${situation} must change nothing`);
        }
      }
    });

    // What is committed with somebody's own writes is fenced as what is written beside them.
    test(`a write with ${what} inside a transaction is refused by every verb in every situation and changes nothing`, async (t) => {
      if (!isTransactional(t)) return;
      for (const situation of SITUATIONS) {
        const id = { scope: 'fences-within', key: situation };
        await arrange(t, situation, id);
        const before = await look(t, id);
        for (const command of commands.filter(isGivenWithin)) {
          assert.equal(await performWithin(t, command, id, fence), 'refused', `${command} / ${situation}`);
          assert.deepEqual(await look(t, id), before, `${command} / ${situation} must change nothing`);
        }
      }
    });

    test(`the end of a handed-over attempt with ${what} is refused, by itself and inside a transaction`, async (t) => {
      if (!isTransactional(t)) return;
      const id = { scope: 'fences', key: 'handed-over' };
      await arrange(t, 'in_progress', id);
      assert.equal(await performWithin(t, HAND_OVER, id), 'applied');
      const before = await look(t, id);
      const handedOver = { handedOver: true };
      for (const to of ['completed', 'failed', 'unknown'] as const) {
        const end = finishRequest({ ...fence, ...id }, to, handedOver);
        assert.deepEqual(await t.store.finish([end]), [{ kind: 'refused', record: before }]);
        assert.equal(await performWithin(t, `finish ${to}`, id, fence, handedOver), 'refused');
        assert.deepEqual(await look(t, id), before);
      }
    });
  }

  test('what a refused write found is reported as it is', async (t) => {
    const id = { scope: 'states', key: 'reported' };
    await arrange(t, 'completed', id);
    const record = await look(t, id);
    const other = { ...id, claimId: 'claim-of-somebody-else', attempt: 1 };
    assert.deepEqual(await forgetAsSeen(t.store, other), [{ kind: 'refused', record }]);
    assert.deepEqual(await t.store.renew([{ ...other, claimTtlMs: 1 }]), [{ kind: 'lost', record }]);
    assert.deepEqual(await forgetAsSeen(t.store, other, { key: 'absent' }), [{ kind: 'already' }]);
  });
}

/** Whether the store takes part in its caller's transactions. If not, that it offers none is tested with its transactions. */
function isTransactional(t: StoreUnderTest): boolean {
  assert.equal(t.transaction !== undefined, t.store.capabilities.transactions);
  return t.store.capabilities.transactions;
}

/** Ends the record and deletes it, whatever it is; what was erased stays for ever, and disturbs nothing. */
async function clear(t: StoreUnderTest, id: RecordId): Promise<void> {
  const { store } = t;
  const record = only(await store.find([id]));
  if (record === null || isErased(record)) return;
  await store.finish([finishRequest(record, 'retryable', { handedOver: record.state === 'pending' })]);
  assert.notEqual(only(await forgetAsSeen(store, record)).kind, 'refused');
  if (only(await store.find([id])) === null) return;
  await t.advance(REOPEN_DELAY_MS);
  assert.equal((await store.reap(10)).count, 1);
}
