/** Workers that are killed: at every point, by one message, and at random under load. */

import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../testing/src/random.ts';
import { type Kind, kinds, type Place } from './bench.ts';
import { type Child, type Ledger, openLedger, startChild } from './children.ts';

const LEASE_MS = 700;
const QUICK = { leaseMs: LEASE_MS, pollMs: 50, backoff: { minMs: 1, maxMs: 10 } };

/** Until no message is left that somebody may still deliver. */
async function drained({ store }: Place, timeMaxMs: number): Promise<void> {
  const open = async (): Promise<number> =>
    (await store.messages.count()).reduce((sum, { state, count }) => sum + (state === 'dead' ? 0 : count), 0);
  await expect.poll(open, { timeout: timeMaxMs, interval: 100 }).toBe(0);
}

/** Where a worker dies with a message, and what the next one finds. */
const DEATHS = [
  { point: 'take.applied', topic: 'work', begun: 1, number: 2 },
  { point: 'handler.before', topic: 'work', begun: 1, number: 2 },
  { point: 'handler.after', topic: 'work', begun: 2, number: 2 },
  { point: 'end.before', topic: 'work', begun: 2, number: 2 },
  // Recorded: nothing comes again.
  { point: 'end.applied', topic: 'work', begun: 1, number: 1 },
] as const;

for (const kind of kinds()) {
  describe(`worker processes: ${kind.name}`, () => {
    const place = kind.use();

    it.each(DEATHS)('a worker killed at $point loses nothing', async ({ point, topic, begun, number }) => {
      const at = await place();
      const ledger = openLedger();
      await at.outbox.enqueueAlone({ topic, payload: { n: 1 } });
      await startChild(at, ledger, QUICK, point).gone;
      const heir = startChild(at, ledger, QUICK);
      await heir.ready;
      await drained(at, 20_000);
      const begins = ledger.read().filter(({ what }) => what === 'begin');
      expect(begins).toHaveLength(begun);
      expect(begins.at(-1)).toMatchObject({ number, before: number > 1 });
      expect(new Set(begins.map(({ key }) => key)).size).toBe(1);
      await heir.stop();
    });

    // F53
    it.each([
      { point: 'handler.after', published: 1 },
      { point: 'note.applied', published: 1 },
      { point: 'end.before', published: 1 },
    ])(
      'a relay killed at $point, after the id was recorded, publishes nothing again',
      async ({ point, published }) => {
        const at = await place();
        const ledger = openLedger();
        await at.outbox.enqueueAlone({ topic: 'publish', payload: { n: 1 } });
        await startChild(at, ledger, QUICK, point).gone;
        const [left] = await at.store.messages.list({});
        expect(left).toMatchObject({ providerId: `provider-${left?.id ?? ''}`, state: 'leased' });
        const heir = startChild(at, ledger, QUICK);
        await drained(at, 20_000);
        expect(ledger.read().filter(({ what }) => what === 'publish')).toHaveLength(published);
        await heir.stop();
      },
    );

    // F53
    it('a relay killed after the provider accepted, before it could record that, repeats under the same key', async () => {
      const at = await place();
      const ledger = openLedger();
      await at.outbox.enqueueAlone({ topic: 'publish', payload: { dies: true } });
      await startChild(at, ledger, QUICK).gone;
      const heir = startChild(at, ledger, QUICK);
      await drained(at, 20_000);
      const [first, second, ...more] = ledger.read();
      expect(more).toEqual([]);
      expect(first).toMatchObject({ what: 'publish', number: 1, before: false });
      expect(second).toMatchObject({ what: 'publish', number: 2, before: true, key: first?.key });
      await heir.stop();
    });

    // F52
    it('a message that kills its worker each time is counted, given up, and the others flow', async () => {
      const at = await place();
      const ledger = openLedger();
      const poison = await at.outbox.enqueueAlone({ topic: 'work', payload: { n: -1, poison: true } });
      for (let n = 0; n < 40; n += 1) await at.outbox.enqueueAlone({ topic: 'work', payload: { n } });
      let deaths = 0;
      let child: Child | undefined;
      // One for all: a look that goes on behind the test would meet a database that is closed.
      const empty = drained(at, 60_000);
      for (;;) {
        child = startChild(at, ledger, { ...QUICK, concurrency: 8, deliveriesMax: 3 });
        const dead = await Promise.race([child.gone.then(() => true), empty.then(() => false)]);
        if (!dead) break;
        deaths += 1;
        expect(deaths).toBeLessThanOrEqual(3);
      }
      await child.stop();
      expect(deaths).toBe(3);
      expect(await at.outbox.deadLetters()).toMatchObject([
        { id: poison, started: 3, finished: 0, lastError: expect.stringMatching(/its worker died/) },
      ]);
      const done = new Set(
        ledger
          .read()
          .filter(({ what }) => what === 'end')
          .map(({ payload }) => payload.n),
      );
      expect(done.size).toBe(40);
    });
  });
}

const [postgres] = kinds();
describe.runIf(postgres?.name.startsWith('PostgreSQL'))('workers under random kills', () => {
  const place = (postgres as Kind).use();

  it('10,000 messages, three workers that die at random: none lost, keys stable, groups in order', async () => {
    const seed = Date.now() % 1_000_000;
    console.info(`random kills: seed ${seed}`);
    const random = createRandom(seed);
    const at = await place();
    const ledger = openLedger();
    const count = 10_000;
    await at.store.messages.enqueue(
      Array.from({ length: count }, (_, n) => {
        const group = n % 20 === 0 ? `g${(n / 20) % 25}` : null;
        const payload = JSON.stringify({ n, ms: n % 7 === 0 ? 3 : 0, group });
        return { id: `m-${n}`, topic: 'work', group, payload, headers: null, delayMs: 0, owner: null };
      }),
    );
    const killed = new Set<number>();
    const how = { ...QUICK, concurrency: 20, deliveriesMax: 50 };
    const children = [0, 1, 2].map(() => startChild(at, ledger, how));
    await Promise.all(children.map(({ ready }) => ready));
    // A kill for every so many messages that were begun: so that all of them fall into the work.
    for (let kill = 1; kill <= 8; kill += 1) {
      await hasBegun(ledger, kill * 900 + random.between(0, 300));
      const i = random.between(0, 2);
      const victim = children[i] as Child;
      killed.add(victim.pid);
      await victim.kill();
      children[i] = startChild(at, ledger, how);
    }
    await drained(at, 120_000);
    await Promise.all(children.map((child) => child.stop()));
    check(ledger, count, killed);
    expect(await at.outbox.deadLetters()).toEqual([]);
  }, 300_000);
});

async function hasBegun(ledger: Ledger, count: number): Promise<void> {
  await expect.poll(() => ledger.read().length / 2 >= count, { timeout: 120_000, interval: 20 }).toBe(true);
}

function check(ledger: Ledger, count: number, killed: ReadonlySet<number>): void {
  const lines = ledger.read();
  const ended = new Set(lines.filter(({ what }) => what === 'end').map(({ payload }) => payload.n));
  expect(ended.size).toBe(count);
  const keys = new Map<string, string>();
  const open = new Map<string, number>();
  const order = new Map<string, number>();
  for (const { what, id, key, pid, payload } of lines) {
    expect(keys.get(id) ?? key).toBe(key);
    keys.set(id, key);
    if (what === 'end') {
      open.delete(id);
      continue;
    }
    // A message is with one worker at a time: the one before has ended it, or is dead.
    const before = open.get(id);
    if (before !== undefined) expect(killed.has(before)).toBe(true);
    open.set(id, pid);
    const { group, n = 0 } = payload;
    if (group === undefined || group === null) continue;
    expect(n).toBeGreaterThanOrEqual(order.get(group) ?? 0);
    order.set(group, n);
  }
  expect(new Set(keys.values()).size).toBe(count);
}
