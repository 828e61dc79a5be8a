/**
 * The golden path on real processes: killed and resumed, raced, restarted, frozen; the long run is
 * `node tools/prove.mjs golden`, one seed again `--seed <seed> --rounds 1`.
 */

import { PROBE_POINTS } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkDone } from '../processes/golden-checks.ts';
import { askForGood, type Payer, recordOf, sendPay, steadily, wordOf } from '../processes/golden-client.ts';
import { type Golden, type GoldenProcess, startGolden } from '../processes/golden-cluster.ts';
import { goldenRace, goldenRestart } from '../processes/golden-load.ts';
import type { Rule } from '../processes/golden-protocol.ts';
import { goldenRound, goldenRoundOf, RESUMERS, STOPS } from '../processes/golden-round.ts';
import { ORDER_BLOWS, orderRound, orderRoundOf } from '../processes/order-round.ts';
import { anyMysql } from '../processes/backends/mysql.ts';
import { type MysqlServer, startMysql } from '../services/mysql.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { seedOf } from './seed.ts';

const [postgres, mysql] = [anyPostgres(), anyMysql()];
/** `endsIdle`: the server ends a transaction whose owner says nothing for longer than it may. */
const servers = [
  ...(postgres === undefined
    ? []
    : [{ name: postgres.name, start: () => startPostgres(postgres), isFirst: true, endsIdle: true }]),
  ...(mysql === undefined
    ? []
    : [
        {
          name: mysql.name,
          start: () => startMysql(mysql),
          isFirst: postgres === undefined,
          endsIdle: false,
        },
      ]),
];

describe.each(servers)('the golden path on $name', ({ start, isFirst, endsIdle }) => {
  let server: PostgresServer | MysqlServer;
  let golden: Golden;
  beforeAll(async () => {
    server = await start();
    golden = await startGolden({ server, apis: 3, workers: 2 });
  }, 60_000);
  afterAll(async () => {
    await golden.close();
    await server.stop();
  });
  const seed = seedOf('golden');

  it('its stops are every probe point that a phased operation passes', () => {
    const points = new Set(STOPS.map(({ point }) => point));
    expect(PROBE_POINTS.filter((point) => !points.has(point))).toEqual(['commit.before']);
  });

  it.each(RESUMERS.map((by, i) => ({ ...goldenRoundOf(seed + i), by })))(
    'a payment killed at $stop.point and brought to its end by $by is made once (seed $seed)',
    async (round) => {
      const { failures } = await goldenRound(golden, round);
      expect(failures).toEqual([]);
    },
  );

  // F13, F14: of one commit, beside processes that reserve before it.
  it.each(ORDER_BLOWS.map((blow, i) => ({ ...orderRoundOf(seed + i), blow })))(
    'an order that meets "$blow" at $stop is written and answered once (seed $seed)',
    async (round) => {
      const { failures } = await orderRound(golden, round);
      expect(failures).toEqual([]);
    },
  );

  // F11
  it('of 50 equal payments at one moment one is made', async () => {
    expect((await goldenRace(golden, seed)).failures).toEqual([]);
  });

  // F65; on the second database the proof does it, which has more time.
  it.runIf(isFirst)(
    'a restart of an API and of a worker under load leaves every payment made once',
    async () => {
      expect((await goldenRestart(golden, seed, { places: 1 })).failures).toEqual([]);
    },
  );

  const callsOf = async ({ key }: Payer): Promise<readonly string[]> =>
    (await golden.provider.ledger(key)).calls.map(({ kind }) => kind);

  describe('when its owner is frozen for longer than its claim', () => {
    let count = 0;
    async function frozenAt(
      rule: Rule,
      point: 'effect.before' | 'commit.sent',
    ): Promise<{
      payer: Payer;
      owner: GoldenProcess;
      other: GoldenProcess;
      first: ReturnType<typeof sendPay>;
    }> {
      count += 1;
      await golden.provider.setFaults({});
      await Promise.all(golden.workers.map((worker) => worker.work(false)));
      const payer: Payer = { key: `frozen-${seed}-${count}`, rule, amount: 5 };
      const [owner, other] = golden.apis as [GoldenProcess, GoldenProcess];
      const trap = await owner.arm({ point, key: payer.key, action: 'stop' });
      const first = sendPay(owner.port, payer);
      await trap.reached;
      return { payer, owner, other, first };
    }
    /** A row that somebody holds is told as a store that cannot answer. */
    const WAITING = new Set(['in-progress', 'store-unavailable']);
    const asking = {
      isFaithful: true,
      isSilent: false,
      meanwhile: new Set(['in-progress']),
      random: Math.random,
    };

    // F61: whoever goes on asks the provider, hears "no such payment", and pays; the owner wakes right before its own call.
    it.each<Rule>(['inquire', 'downstreamKey'])('right before its call, it makes none (%s)', async (rule) => {
      const { payer, owner, other, first } = await frozenAt(rule, 'effect.before');
      expect(await askForGood(golden, payer, { ...asking, first: other })).toBeNull();
      owner.signal('SIGCONT');
      expect(wordOf(await first)).toBe('201');
      await checkDone(golden, [payer], (what) => expect.fail(what));
      expect(await callsOf(payer)).toEqual(['authorise', 'capture']);
    });

    // F61
    it('and its payment was settled by a reconciler who asked: it makes none, the next attempt makes one', async () => {
      const { payer, owner, other, first } = await frozenAt('reconcile', 'effect.before');
      const until = 'outcome-unknown';
      expect(await askForGood(golden, payer, { ...asking, first: other, until })).toBeNull();
      expect((await golden.provider.ledger(payer.key)).payments).toEqual([]);
      const record = (await golden.store.list({ states: ['unknown'] })).find(({ key }) => key === payer.key);
      if (record === undefined) throw new Error('It is not unknown.');
      const { scope, key, claimId, attempt } = record;
      const settled = {
        scope,
        key,
        claimId,
        attempt,
        to: 'retryable',
        reason: 'asked',
        actor: null,
        response: null,
      } as const;
      expect(await golden.store.settle([settled])).toMatchObject([{ kind: 'applied' }]);
      owner.signal('SIGCONT');
      expect(['in-progress', '201']).toContain(wordOf(await first));
      expect(await callsOf(payer)).toEqual([]);
      expect(await askForGood(golden, payer, { ...asking, first: other })).toBeNull();
      await checkDone(golden, [payer], (what) => expect.fail(what));
      expect(await callsOf(payer)).toEqual(['authorise', 'capture']);
    });

    it.runIf(endsIdle)(
      'inside the transaction of a phase, that phase is rolled back, and written once by the next',
      async () => {
        const { payer, owner, other, first } = await frozenAt('downstreamKey', 'commit.sent');
        expect(await askForGood(golden, payer, { ...asking, first: other })).toBeNull();
        owner.signal('SIGCONT');
        expect(['in-progress', '201']).toContain(wordOf(await first));
        await checkDone(golden, [payer], (what) => expect.fail(what));
        expect((await steadily(() => recordOf(golden, payer.key)))?.attempt).toBe(2);
      },
    );

    it.runIf(!endsIdle)(
      'inside the transaction of a phase, it holds its record: others are told so, and it goes on where it was',
      async () => {
        const { payer, owner, other, first } = await frozenAt('downstreamKey', 'commit.sent');
        await expect
          .poll(async () => wordOf(await sendPay(other.port, payer)), { timeout: 20_000 })
          .toBe('store-unavailable');
        owner.signal('SIGCONT');
        expect(['in-progress', '201']).toContain(wordOf(await first));
        expect(await askForGood(golden, payer, { ...asking, meanwhile: WAITING, first: other })).toBeNull();
        await checkDone(golden, [payer], (what) => expect.fail(what));
      },
    );
  });
});
