/** What only MySQL and MariaDB have: locks of users' transactions and of frozen processes beside messages, slots of groups. */

import { type Connection, createConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slotOf } from '../../src/stores/mysql/messages-in.ts';
import { type MysqlStore, mysqlStore } from '../../src/stores/mysql/index.ts';
import { GROUP_SLOTS } from '../../src/stores/mysql/tables.ts';
import {
  claimOf,
  endOf,
  handedOver,
  look,
  message,
  take,
  takeOne,
} from '../../../testing/src/outbox/bench.ts';
import { availableMysql, lockWaits, type MysqlServer, startMysql } from '../services/mysql.ts';

for (const source of availableMysql()) {
  describe(`messages: ${source.name}`, () => {
    let server: MysqlServer;
    const toEnd: (() => Promise<unknown>)[] = [];
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterEach(async () => {
      for (const end of toEnd.splice(0).toReversed()) await end();
    });
    afterAll(() => server.stop());

    async function place(): Promise<{
      readonly store: MysqlStore;
      readonly messages: MysqlStore['messages'];
      readonly session: () => Promise<Connection>;
    }> {
      const url = await server.createDatabase();
      const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
      toEnd.push(() => store.close());
      await store.migrate();
      return {
        store,
        messages: store.messages,
        async session() {
          const connection = await createConnection(url);
          toEnd.push(async () => connection.destroy());
          return connection;
        },
      };
    }

    // F51
    it('of two transactions that put messages into one group, the later waits, at every isolation level', async () => {
      const at = await place();
      for (const isolation of ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
        const [early, late] = [await at.session(), await at.session()];
        for (const each of [early, late]) {
          await each.query(`SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}`);
          await each.query('START TRANSACTION');
          // Its snapshot is older than what the other one commits.
          await each.query('SELECT COUNT(*) FROM samekey_meta');
        }
        const [first, second, third] = [1, 2, 3].map(() => message({ group: 'g' }));
        await at.store.within(early).enqueue([first as never]);
        let isIn = false;
        const waiting = at.store
          .within(late)
          .enqueue([second as never])
          .then(() => {
            isIn = true;
          });
        const admin = await at.session();
        await expect
          .poll(async () => {
            const [rows] = await admin.query("SHOW STATUS LIKE 'Innodb_row_lock_current_waits'");
            return Number((rows as { Value: string }[])[0]?.Value);
          })
          .toBeGreaterThan(0);
        expect(isIn).toBe(false);
        await at.store.within(early).enqueue([third as never]);
        await early.query('COMMIT');
        await waiting;
        await late.query('COMMIT');
        const got: string[] = [];
        for (let taken = await take(at.messages); taken.length > 0; taken = await take(at.messages)) {
          got.push(...taken.map(({ id }) => id));
          await at.messages.done(taken.map((each) => ({ ...each, record: null })));
        }
        expect(got).toEqual([first?.id, third?.id, second?.id]);
      }
    });

    it('a transaction that has put a message into a group and goes on holds up no delivery of that group', async () => {
      const { messages, store, session } = await place();
      await messages.enqueue([message({ group: 'g' })]);
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      const later = message({ group: 'g' });
      await store.within(theirs).enqueue([later]);
      const taken = await takeOne(messages);
      const waits = await lockWaits(theirs);
      expect(await messages.done([{ ...taken, record: null }])).toEqual(['applied']);
      expect(await lockWaits(theirs)).toBe(waits);
      await theirs.query('COMMIT');
      expect((await takeOne(messages)).id).toBe(later.id);
    });

    it('a message that is parked at the moment at which the one ahead ends is unparked all the same', async () => {
      const { messages, session } = await place();
      const [first, second] = [message({ group: 'g' }), message({ group: 'g' })];
      await messages.enqueue([first, second]);
      const lease = await takeOne(messages, { limit: 1 });
      const other = await session();
      await other.query('START TRANSACTION');
      // A take that looked before the first one ended, and has not committed yet.
      await other.query('UPDATE samekey_messages SET parked = 1 WHERE place = 2');
      const ending = messages.done([{ ...lease, record: null }]);
      await expect.poll(() => look(messages, first.id)).toBeUndefined();
      await other.query('COMMIT');
      expect(await ending).toEqual(['applied']);
      expect((await take(messages)).map(({ id }) => id)).toEqual([second.id]);
    });

    it('a group that a dead process left parked goes on after tidying', async () => {
      const { messages, session } = await place();
      await messages.enqueue([
        message({ group: 'left' }),
        message({ group: 'left' }),
        message({ group: 'other' }),
      ]);
      // As if its process had died between the end of the one ahead and the word to the next.
      await (await session()).query("UPDATE samekey_messages SET parked = 1 WHERE group_key = 'left'");
      expect(await take(messages)).toHaveLength(1);
      expect(await messages.tidy()).toBe(1);
      expect(await take(messages)).toHaveLength(1);
      expect(await messages.tidy()).toBe(0);
    });

    it('a record that a transaction holds holds up its own message only', async () => {
      const { messages, store, session } = await place();
      const bench = {
        store,
        advance: () => undefined,
        close: async () => undefined,
        async transaction<T>(body: (within: never) => Promise<T>): Promise<T> {
          const theirs = await session();
          await theirs.query('START TRANSACTION');
          const result = await body(store.within(theirs) as never);
          await theirs.query('COMMIT');
          return result;
        },
      };
      const [held, free] = [await handedOver(bench, 'held'), await handedOver(bench, 'free')];
      const taken = await take(messages);
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      await theirs.query(
        "SELECT id FROM samekey_records WHERE scope = 'tenant-1/mail' AND `key` = 'held' FOR UPDATE",
      );
      const ends = [held, free].map((owner) => {
        const lease = taken.find((each) => each.owner?.key === owner.key) as (typeof taken)[number];
        return { ...lease, record: endOf(owner) };
      });
      const ending = messages.done(ends);
      const stateOf = async (owner: typeof held): Promise<string | undefined> =>
        (await store.find([owner]))[0]?.state;
      await expect.poll(() => stateOf(free)).toBe('completed');
      expect(await stateOf(held)).toBe('pending');
      await theirs.query('ROLLBACK');
      expect(await ending).toEqual(['applied', 'applied']);
      expect(await stateOf(held)).toBe('completed');
    });

    it('a schema change inside a transaction is noticed before a message is put in', async () => {
      const { messages, store, session } = await place();
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      const within = store.within(theirs);
      await within.enqueue([message()]);
      await theirs.query('CREATE TABLE made_inside (id INT)');
      await expect(within.enqueue([message()])).rejects.toThrow(
        /a statement that changes a schema has ended it/,
      );
      expect(await messages.count()).toEqual([{ topic: 'mail', state: 'ready', count: 1 }]);
    });

    it('without its slots a group takes no message: they could overtake each other', async () => {
      const { messages, session } = await place();
      await (await session()).query('DELETE FROM samekey_groups WHERE slot = ?', [slotOf('g')]);
      await expect(messages.enqueue([message({ group: 'g' })])).rejects.toThrow(/samekey_groups lacks rows/);
      await messages.enqueue([message()]);
    });

    it('every group has a slot of its own most of the time, and always the same', () => {
      const slots = Array.from({ length: 1_000 }, (_, i) => slotOf(`tenant-${i}`));
      expect(slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot < GROUP_SLOTS)).toBe(true);
      expect(new Set(slots).size).toBeGreaterThan(800);
      // For ever: other processes lock by it.
      expect(['', 'g', 'Zoë 💶'].map(slotOf)).toEqual([3_289, 1_034, 975]);
    });

    it('messages of many megabytes come in together', async () => {
      const { messages } = await place();
      const long = Array.from({ length: 90 }, () =>
        message({ payload: JSON.stringify('é'.repeat(120_000)) }),
      );
      await messages.enqueue(long);
      const got: string[] = [];
      for (
        let taken = await take(messages, { limit: 20 });
        taken.length > 0;
        taken = await take(messages, { limit: 20 })
      ) {
        for (const each of taken) expect(each.payload).toBe(long[0]?.payload);
        got.push(...taken.map(({ id }) => id));
        await messages.done(taken.map((each) => ({ ...each, record: null })));
      }
      expect(got).toEqual(long.map(({ id }) => id));
    });

    it('a claim waits for no message, and no take for a claim', async () => {
      const { messages, store, session } = await place();
      await messages.enqueue([message(), message()]);
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      await theirs.query('SELECT * FROM samekey_messages ORDER BY place LIMIT 1 FOR UPDATE');
      expect(await take(messages)).toHaveLength(1);
      const owner = { scope: 's', key: 'k', claimId: 'c', attempt: 1 };
      expect((await store.claim([claimOf(owner)]))[0]?.kind).toBe('claimed');
    });
  });
}
