/** What every golden example must do, on a PostgreSQL server that npm brings along and with a payment provider that fails. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  anyPostgres,
  type PostgresServer,
  startPostgres,
} from '../packages/samekey/test/services/postgres.ts';
import { type OrderAnswer, type RunningExample, startExample } from './running-example.ts';

const COMMAND = fileURLToPath(new URL('../packages/cli/bin/samekey.js', import.meta.url));

interface Charge {
  readonly id: string;
  readonly reference: string;
}

/** Describes the example `name`, whose script is below `examples/` or a full path; null where it is not installed. */
export function goldenShop(name: string, script: string | null = name): void {
  const source = anyPostgres();
  // What is missing has been said by whoever looked for it. The tests stand in the report all the same, as skipped (F108).
  describe.runIf(source !== undefined && script !== null)(name, () => {
    let server: PostgresServer;
    let provider: RunningExample;
    let example: RunningExample;
    let env: Record<string, string>;
    beforeAll(async () => {
      server = await startPostgres(source as NonNullable<typeof source>);
      provider = await startExample('golden-provider/provider.mjs');
      env = { DATABASE_URL: await server.createDatabase(), PROVIDER_URL: provider.origin };
      const [code] = await once(
        spawn(process.execPath, [COMMAND, 'migrate', '--service', 'shop'], { env, stdio: 'inherit' }),
        'close',
      );
      expect(code).toBe(0);
      example = await startExample(script ?? '', env);
    });
    afterAll(async () => {
      await example?.stop();
      await provider?.stop();
      await server?.stop();
    });

    const charges = async (): Promise<Charge[]> =>
      (await (await fetch(`${provider.origin}/charges`)).json()) as Charge[];
    const failNext = (fault: string): Promise<Response> =>
      fetch(`${provider.origin}/next-fault`, { method: 'POST', body: fault });
    const orders = async (account = 'acme'): Promise<{ id: number; charge: string }[]> => {
      const listed = await fetch(`${example.origin}/orders`, {
        headers: { Authorization: `Bearer ${account}` },
      });
      return (await listed.json()) as { id: number; charge: string }[];
    };
    /** Sends it again, as the answer says, until it is answered. */
    const insist = async (key: string, item: string): Promise<OrderAnswer> => {
      for (;;) {
        const answer = await example.order(key, item);
        if (answer.status !== 409) return answer;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    };
    /** How many receipts there are for an order, as soon as there is one. */
    const receiptsOf = async (id: number): Promise<number> => {
      for (;;) {
        const all = (await (await fetch(`${provider.origin}/receipts`)).json()) as { order: number }[];
        const own = all.filter(({ order }) => order === id).length;
        if (own > 0) return own;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    /** The order of this answer stands once in the shop's table, is charged once, by that name, and has one receipt. */
    const expectPaidOnce = async ({ text }: OrderAnswer): Promise<void> => {
      const { id, charge } = JSON.parse(text) as { id: number; charge: string };
      expect((await orders()).filter((one) => one.id === id)).toMatchObject([{ charge }]);
      expect(await receiptsOf(id)).toBe(1);
      expect((await charges()).filter(({ reference }) => reference === `order-${id}`)).toMatchObject([
        { id: charge },
      ]);
    };

    it('answers a retry with the stored bytes: one order, one charge', async () => {
      const first = await example.order('tea', 'tea');
      expect(first).toMatchObject({ status: 201, replayed: null });
      expect(await example.order('tea', 'tea')).toEqual({ ...first, replayed: 'true' });
      expect(await orders()).toHaveLength(1);
      await expectPaidOnce(first);
    });

    it('gives two orders at once under one key one answer and one charge', async () => {
      const both = await Promise.all([example.order('twice', 'tea'), example.order('twice', 'tea')]);
      expect(both.map(({ status }) => status)).toEqual([201, 201]);
      expect(both[0]?.text).toBe(both[1]?.text);
      await expectPaidOnce(both[0]);
    });

    // F20: the provider has taken the money, and its answer is lost.
    it.each(['loses-reply', 'fails-after-charging', 'fails-first'])(
      'does not guess when the provider %s: 409, and the retry ends with one charge',
      async (fault) => {
        const [ordersBefore, chargesBefore] = [(await orders()).length, (await charges()).length];
        await failNext(fault);
        expect((await example.order(fault, 'tea')).status).toBe(409);
        const paid = await insist(fault, 'tea');
        expect(paid.status).toBe(201);
        await expectPaidOnce(paid);
        expect(await orders()).toHaveLength(ordersBefore + 1);
        expect(await charges()).toHaveLength(chargesBefore + 1);
      },
    );

    it('goes on where a killed process stopped, and charges once', async () => {
      const before = (await charges()).length;
      await failNext('answers-late');
      const ordering = example.order('killed', 'tea').catch(() => null);
      while ((await charges()).length === before) await new Promise((resolve) => setTimeout(resolve, 5));
      await example.kill();
      await ordering;
      example = await startExample(script ?? '', env);
      const paid = await insist('killed', 'tea');
      expect(paid).toMatchObject({ status: 201 });
      await expectPaidOnce(paid);
      expect(await charges()).toHaveLength(before + 1);
    });

    it('is finished by the worker when the client never comes back', async () => {
      const before = (await charges()).length;
      await failNext('fails-first');
      expect((await example.order('left', 'tea')).status).toBe(409);
      while ((await orders()).some(({ charge }) => charge === null)) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(await charges()).toHaveLength(before + 1);
      await expectPaidOnce(await example.order('left', 'tea'));
    });

    it('gives another account with the same key an order of its own', async () => {
      const ours = await example.order('shared', 'tea');
      const theirs = await example.order('shared', 'tea', 'globex');
      expect(theirs).toMatchObject({ status: 201, replayed: null });
      expect(theirs.text).not.toBe(ours.text);
    });

    it('refuses the same key with another item', async () => {
      expect((await example.order('tea', 'coffee')).status).toBe(422);
    });

    it('ends cleanly and replays after a restart', async () => {
      const first = await example.order('kept', 'tea');
      expect(await example.stop()).toBe(0);
      example = await startExample(script ?? '', env);
      expect(await example.order('kept', 'tea')).toEqual({ ...first, replayed: 'true' });
    });
  });
}
