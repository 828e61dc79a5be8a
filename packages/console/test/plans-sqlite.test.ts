/**
 * On SQLite, too, every statement of the console goes by an index, or from the newest back to a bound: it is read on the
 * event loop, so a walk through a table would stop whoever else waits for the process. Its plans do not depend on how
 * much there is: no statistics are kept.
 */

import Database from 'libsql';
import { createSamekey, reply, type Samekey, type Store } from 'samekey';
import type { MessageQueue } from 'samekey/operator';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { called } from './called.ts';
import { deadLetters } from './dead-letters-of.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

/** These count everything, are told with their age, and rest twenty times as long as they took. */
const COUNTING = /^SELECT \w+(?:, \w+)?, count\(\*\)/;
/** From the newest back, with a bound. */
const NEWEST = /ORDER BY (?:rowid|seq) DESC LIMIT \?$/;

const PAYMENT = { scope: 'acme/c1|POST /payments', key: 'pay-1' };

describe('plans of the console: SQLite', () => {
  const database = new Database(':memory:');
  /** The statements that a verb has run. */
  const sent = new Set<string>();
  let samekey: Samekey;
  let served: Served;

  function watched(): SqliteDatabase {
    const prepare = (sql: string) => {
      const statement = database.prepare(sql);
      for (const name of ['all', 'get', 'run'] as const) {
        const run = statement[name];
        const noted = (...values: unknown[]): unknown => {
          sent.add(sql);
          return Reflect.apply(run, statement, values);
        };
        Object.assign(statement, { [name]: noted });
      }
      return statement;
    };
    return Object.create(database, {
      prepare: { value: prepare },
      exec: { value: (sql: string) => database.exec(sql) },
      inTransaction: { get: () => database.inTransaction },
    }) as SqliteDatabase;
  }

  beforeAll(async () => {
    const store = sqliteStore({ service: 'shop', database: watched() });
    samekey = createSamekey({ store, policy: 'payments' });
    await store.migrate();
    await samekey.run(
      { scope: ['acme', 'c1'], key: 'pay-1', operation: 'POST /payments', fingerprint: 1 },
      () => reply(500, {}),
    );
    await deadLetters(store, 10);
    await called(store, { scope: 'acme/c1|order', key: 'plan-call' }, 'provider-id', 'pi_of_one');
    served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice', rights: ALL } });
  });
  afterAll(async () => {
    await served?.close();
    await samekey?.close();
  });

  /** What they read of the tables, each with its plan: what they write, they write by what was read. */
  function plans(): readonly (readonly [sql: string, plan: string])[] {
    return [...sent]
      .filter(
        (sql) =>
          /^SELECT .*samekey_(?:records|messages|audit|references)\b/s.test(sql) && !COUNTING.test(sql),
      )
      .map((sql) => {
        const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
        return [sql, rows.map(({ detail }) => detail).join(' | ')];
      });
  }
  function expectIndexes(): void {
    for (const [sql, plan] of plans()) {
      const scans = /\bSCAN samekey_\w+/.test(plan) || /USING INTEGER PRIMARY KEY \(rowid[<>]/.test(plan);
      // A bound is none where a filter may pass over everything.
      const isBounded = NEWEST.test(sql) && !/ WHERE (?!1 )/.test(sql) && !plan.includes('TEMP B-TREE');
      expect(scans && !isBounded, `${sql}\n${plan}`).toBe(false);
    }
  }

  it.each([
    ['overview', {}],
    ['records', {}],
    ['records', { states: ['unknown'] }],
    ['records', { states: ['failed'] }],
    ['records', { operation: 'POST /payments' }],
    ['records', { caller: 'acme/c1' }],
    ['records', { caller: 'acme/c1', key: 'pay-1' }],
    ['records', { key: 'pay-1' }],
    ['records', { reference: 'pi_of_one' }],
    ['record', PAYMENT],
    ['reveal', { ...PAYMENT, reason: 'why' }],
    ['minted', { caller: 'acme/c1' }],
    ['audit', {}],
    ['audit', PAYMENT],
    ['letters', {}],
    ['letters', { topic: 'mail', after: 2 }],
    ['preview-requeue', { ids: ['letter-0001'] }],
    ['requeue', { ids: ['letter-0001'], reason: 'why' }],
    ['drop', { ids: ['letter-0002'], reason: 'why' }],
    ['preview-erase', { caller: 'acme/c1' }],
  ])('%s %o goes by an index, or from the newest back to a bound', async (verb, body) => {
    sent.clear();
    const { status } = await served.ask(verb, body);
    expect([status, plans().length > 0]).toEqual([200, true]);
    expectIndexes();
  });

  it('dead letters of one record, and of a topic, are the same ones by either way', async () => {
    const { messages } = samekey.store as Store & { readonly messages: MessageQueue };
    const whole = (await messages.list({ limit: 100 })).filter(({ state }) => state === 'dead');
    expect(whole.length).toBe(8);
    expect(await messages.list({ states: ['dead'], topic: 'mail', limit: 100 })).toEqual(whole);
    const after = whole[3]?.place ?? 0;
    expect(await messages.list({ states: ['dead'], after, limit: 2 })).toEqual(whole.slice(4, 6));
    expect(await messages.list({ states: ['dead'], owner: PAYMENT })).toEqual([]);
  });
});
