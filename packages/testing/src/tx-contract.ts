/**
 * The contract of transaction sources: one suite that every `samekey/tx/…` must pass with the real library on a real database.
 * A harness runs SQL by the library's means; handlers, faults and what must come of them are the contract's.
 *
 * Invariants: a database of its own for each test · tests wait for signals and probe points · faults are made for real: sessions
 * are ended, servers killed, answers to COMMIT swallowed on the wire.
 * Sources: contract §5.3; field cases F14, F16, F22, F60, F63, F64, F122, F124.
 */

import type { TestRunner } from './contract/context.ts';
import { commitTests } from './tx/commits.ts';
import { caughtDeadlockTests, endedInsideTests } from './tx/ended-inside.ts';
import type { TxHarness } from './tx/harness.ts';
import { type AddTest, onTxBench } from './tx/kit.ts';
import { nestedTests } from './tx/nested.ts';
import { oneWriterTests } from './tx/one-writer.ts';
import { ownerTests } from './tx/owners.ts';
import { reservedEndTests } from './tx/reserved-ends.ts';
import { reservedLostTests } from './tx/reserved-lost.ts';
import { reservedTests } from './tx/reserved.ts';
import { conflictTests, rerunTests } from './tx/reruns.ts';
import { togetherTests } from './tx/together.ts';
import { valueTests } from './tx/values.ts';

export type { ContractIsolation, ContractRow, TxBench, TxHarness, TxOpenOptions } from './tx/harness.ts';

/** What holds in all databases, and what only some of them can do. */
const PARTS: readonly (readonly [
  title: string,
  on: readonly TxHarness['dialect'][] | null,
  add: (test: AddTest, harness: TxHarness) => void,
])[] = [
  ['together', null, togetherTests],
  ['nested', ['postgres', 'mysql', 'sqlite'], nestedTests],
  ['ended inside', null, endedInsideTests],
  ['deadlocks that are caught', ['mysql'], caughtDeadlockTests],
  ['values', null, valueTests],
  ['runs again', ['postgres', 'mysql'], conflictTests],
  ['runs again at will', ['postgres'], rerunTests],
  ['owners', ['postgres', 'mysql'], ownerTests],
  ['unclear commits', ['postgres', 'mysql'], commitTests],
  ['one writer', ['sqlite'], oneWriterTests],
  ['reserved in the transaction', null, reservedTests],
  ['reserved in the transaction: ends', null, reservedEndTests],
  ['reserved in the transaction: lost connections', ['postgres'], reservedLostTests],
];

/** Describes the contract of transaction sources to a test runner, for the source of this harness. */
export function txContract(runner: TestRunner, harness: TxHarness): void {
  for (const [part, on, addTests] of PARTS) {
    if (on?.includes(harness.dialect) === false) continue;
    if (part.startsWith('reserved') && harness.reserve === undefined) continue;
    if (part.endsWith('lost connections') && harness.endsWhenLost !== true) continue;
    if (part === 'ended inside' && harness.noticesEnds === false) continue;
    runner.describe(`${harness.name} keeps the transaction contract: ${part}`, () => {
      const test: AddTest = (title, body, options = {}) =>
        void runner.it(title, () => onTxBench(harness, options, body));
      addTests(test, harness);
    });
  }
}
