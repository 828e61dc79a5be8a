/** The state table, row by row, and the fence of every verb. */

import assert from 'node:assert/strict';
import { isErased, REOPEN_DELAY_MS, type RecordId } from '../../core/record.ts';
import { type AddTest, finishRequest, handRequest, only, type StoreUnderTest } from './context.ts';
import { arrange, checkRow, look, OWN, perform } from './state-bench.ts';
import { SITUATIONS, stateTableRows } from './state-table.ts';

export function stateTests(test: AddTest): void {
  const rows = stateTableRows(SITUATIONS);
  const commands = [...new Set(rows.map((row) => row.command))];
  for (const command of commands) {
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
          if (/^(claim|sweep|take|erase|reap)/.test(command)) continue;
          const result = await perform(t, command, id, fence);
          const expected =
            command === 'renew' ? 'lost' : command === 'forget' && before === null ? 'already' : 'refused';
          assert.equal(result, expected, `${command} / ${situation}`);
          assert.deepEqual(await look(t, id), before, `${command} / ${situation} must change nothing`);
        }
      }
    });
  }

  test('what a refused write found is reported as it is', async (t) => {
    const id = { scope: 'states', key: 'reported' };
    await arrange(t, 'completed', id);
    const record = await look(t, id);
    const other = { ...id, claimId: 'claim-of-somebody-else', attempt: 1 };
    assert.deepEqual(await t.store.forget([handRequest(other)]), [{ kind: 'refused', record }]);
    assert.deepEqual(await t.store.renew([{ ...other, claimTtlMs: 1 }]), [{ kind: 'lost', record }]);
    assert.deepEqual(await t.store.forget([{ ...handRequest(other), key: 'absent' }]), [{ kind: 'already' }]);
  });
}

/** Ends the record and deletes it, whatever it is; what was erased stays for ever, and disturbs nothing. */
async function clear(t: StoreUnderTest, id: RecordId): Promise<void> {
  const { store } = t;
  const record = only(await store.find([id]));
  if (record === null || isErased(record)) return;
  await store.finish([finishRequest(record, 'retryable')]);
  assert.notEqual(only(await store.forget([handRequest(record)])).kind, 'refused');
  if (only(await store.find([id])) === null) return;
  await t.advance(REOPEN_DELAY_MS);
  assert.equal((await store.reap(10)).count, 1);
}
