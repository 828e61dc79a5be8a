/** What the two parts on reserved keys share: an order that waits inside its handler, and the records of keys. */

import assert from 'node:assert/strict';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { type Context, type Instance, type Order, ORDER, REQUEST, signal } from './kit.ts';

/** Another request under the usual key. */
export const OTHER: typeof REQUEST = { ...REQUEST, input: { id: 'o-2', amount: 6 } };

/** An order that waits inside its handler. */
interface Holding {
  readonly inside: Promise<void>;
  readonly running: Promise<RunOutcome<unknown>>;
  go(): void;
}

/** Asks for one. */
export function hold(
  t: Context,
  { samekey }: Instance,
  {
    key = REQUEST.key,
    id = ORDER.id,
    fails = false,
  }: { readonly key?: string; readonly id?: string; readonly fails?: boolean } = {},
): Holding {
  const [inside, go] = [signal(), signal()];
  const order = samekey.transactional({
    name: 'order',
    async run(_input: Order, attempt) {
      await t.insert(attempt.tx, id, amountOf(id));
      inside.give();
      await go.given;
      if (fails) throw new Error('out of paper');
      return attempt.number;
    },
  });
  const running = order.run({ ...REQUEST, key });
  running.catch(() => undefined);
  return { inside: inside.given, running, go: () => go.give() };
}

/** One of its own for each id. */
export function amountOf(id: string): number {
  const codes = Array.from(id, (character) => character.codePointAt(0) ?? 0);
  return codes.reduce((sum, code) => (sum * 31 + code) % 1_000_000, 7) + 1_000;
}

/** The usual operation of an instance. */
export async function orderAt(t: Context, { samekey }: Instance): Promise<Operation<Order, unknown>> {
  return samekey.transactional({
    name: 'order',
    async run(input: Order, attempt) {
      await t.insert(attempt.tx, input.id, input.amount);
      return attempt.number;
    },
  });
}

type Listed = Awaited<ReturnType<Context['store']['list']>>[number];

/** The record of a key; null: there is none. */
export async function found(t: Context, key: string = REQUEST.key): Promise<Listed | null> {
  return (await t.store.list({ limit: 100 })).find((record) => record.key === key) ?? null;
}

/** The record of a key, which must be there. */
export async function only(t: Context, key: string = REQUEST.key): Promise<Listed> {
  const record = await found(t, key);
  assert.ok(record !== null, `there is a record of ${key}`);
  return record;
}
