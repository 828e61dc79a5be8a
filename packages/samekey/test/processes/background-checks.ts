/** What must hold after a round of background work, by the records, the lines, the provider's books, the messages and the audit. */

import { createOperator } from 'samekey/operator';
import { createOutbox } from 'samekey/outbox';
import type { BackgroundDatabase } from './background-database.ts';
import { LINES, type OperationName, PAYS } from './background-protocol.ts';
import type { ProviderLedger } from './payment-provider.ts';

/** A key, and every final answer that its clients were given. */
export interface Client {
  readonly key: string;
  readonly operation: OperationName;
  readonly amount: number;
  readonly answers: unknown[];
}

/** An act that an operator was told is done. */
export interface AppliedAct {
  readonly actor: string;
  readonly key: string;
}

/** How often each client asks for its answer once it has it. */
export const ANSWERS = 3;

/** What happened beside the books. */
export interface Told {
  readonly acts: readonly AppliedAct[];
  /** Keys of the `contradiction` events of processes. */
  readonly contradictions: readonly string[];
}

/** Whether all is answered, delivered and settled. */
export async function isQuiet({ store }: BackgroundDatabase, clients: readonly Client[]): Promise<boolean> {
  if (clients.some(({ answers }) => answers.length < ANSWERS)) return false;
  const records = await store.list({ limit: 1_000 });
  if (records.some(({ state }) => state !== 'completed')) return false;
  return (await createOutbox({ store }).count()).every(({ count }) => count === 0);
}

/** What is wrong in the end. */
export async function faultsOf(
  database: BackgroundDatabase,
  clients: readonly Client[],
  ledger: ProviderLedger,
  { acts, contradictions }: Told,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const { store } = database;
  const records = new Map((await store.list({ limit: 1_000 })).map((record) => [record.key, record]));
  const lines = await database.lines();
  const operator = createOperator({ store, actor: null });
  for (const { key, operation, answers } of clients) {
    const record = records.get(key);
    const paid = ledger.payments.filter(({ reference, kind }) => reference === key && kind === operation);
    const own = lines.filter(({ reference }) => reference === key);
    const audit = record === undefined ? [] : ((await operator.find(record))?.audit ?? []);
    // Newest first, as the audit tells it: how it came there.
    const way = audit
      .map(({ act, attempt, from, to, reason }) => `${attempt}: ${act} ${from}>${to} ${reason}`)
      .join(' < ');
    const where = `${key} (${operation}, ${record?.state} ${record?.reason}, attempt ${record?.attempt}; ${way})`;
    const fault = (what: string): void => void faults.push(`${where} ${what}`);
    if (record?.state !== 'completed') fault('has not come to its end');
    if (answers.length === 0) fault('was not answered');
    if (new Set(answers.map((answer) => JSON.stringify(answer))).size > 1)
      fault(`was answered ${JSON.stringify(answers)}`);
    const pays = PAYS.includes(operation);
    if (paid.length !== (pays ? 1 : 0)) fault(`was paid ${paid.length} times`);
    const written = own.map(({ what }) => what).toSorted();
    // Who handed its work over and is run again, because nothing had come of it, may write its line again.
    const mayRepeat = operation === 'ship' && (record?.attempt ?? 1) > 1;
    const distinct = mayRepeat ? [...new Set(written)] : written;
    if (distinct.join() !== LINES[operation].toSorted().join() || written.length > (record?.attempt ?? 1) + 1)
      fault(`has the lines ${written.join()}`);
    const answer = answers[0] as { readonly id?: string; readonly written?: readonly string[] } | undefined;
    if (answer?.id !== undefined && answer.id !== paid[0]?.id) fault('was answered with another payment');
    for (const line of answer?.written ?? [])
      if (!own.some((one) => one.written === line)) fault('was answered with a line that is not there');
    const calls = ledger.calls.filter(({ reference, kind }) => reference === key && kind === operation);
    // A plain call is repeated only by a further attempt, which nobody may begin unasked.
    if (operation === 'charge' && calls.length > (record?.attempt ?? 0))
      fault(`was called ${calls.length} times`);
    for (const { actor } of acts.filter((act) => act.key === key))
      if (!audit.some((row) => row.actor === actor)) fault(`has no row of what ${actor} did`);
    const applied = acts.filter((act) => act.key === key).length;
    const settled = audit.filter(({ act }) => act === 'settle').length;
    if (settled < applied) fault(`has ${settled} rows of ${applied} settlements`);
    if (contradictions.includes(key) && !audit.some(({ act }) => act === 'contradiction'))
      fault('has no row of its contradiction');
  }
  for (const { topic, state, count } of await createOutbox({ store }).count())
    if (count > 0) faults.push(`${count} messages of ${topic} are left ${state}`);
  return faults;
}
