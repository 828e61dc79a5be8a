/** Histories over real stores: a slice of what `npm run prove -- --only simulator-stores` runs, and a bug that must be found. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulate } from '../../../testing/src/index.ts';
import { describeFailure } from '../../../testing/src/simulator/report.ts';
import { citusUrl } from '../services/citus.ts';
import { distributedLane } from '../services/distributed-lane.ts';
import { availableDynamoDb, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import {
  dynamodbLane,
  type Lane,
  mysqlLane,
  postgresLane,
  redisLane,
  sqliteLane,
  withoutFence,
} from '../services/simulator-lanes.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { availablePostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

const SECONDS = Number(process.env['SAMEKEY_SIM_SECONDS'] ?? 6);
const FIRST = Number(process.env['SAMEKEY_SEED'] ?? 1);
/** Histories side by side: while one waits for its store, others go on. */
const LANES = 4;
/** Seeds that failed once, on whichever store, and what they found. */
const KEPT = [
  { seed: 17131, why: 'a watch on an earlier attempt ended the late repetition of its claim' },
] as const;
/** Within so many the planted bug is found. */
const HISTORIES_MAX = 200;

/** Adds the tests of one store; `open` makes a lane. */
function histories(name: string, open: (n: number) => Promise<Lane>): void {
  describe(name, () => {
    let lanes: Lane[] = [];
    beforeAll(async () => {
      lanes = await Promise.all(Array.from({ length: LANES }, (_, i) => open(i)));
    });
    afterAll(() => Promise.all(lanes.map((lane) => lane.close())));

    it.each(KEPT)('seed $seed holds: $why', async ({ seed }) => {
      const database = lanes[0]?.database ?? expect.fail('no lane');
      const { violations } = await simulate({ seed, database });
      if (violations.length > 0)
        expect.fail(describeFailure(await simulate({ seed, database, trace: true })));
    });

    it(`seeds from ${FIRST} on hold, for ${SECONDS} seconds`, async () => {
      const endsAt = performance.now() + SECONDS * 1000;
      let seed = FIRST;
      await Promise.all(
        lanes.map(async ({ database }) => {
          while (performance.now() < endsAt) {
            const own = seed++;
            const { violations } = await simulate({ seed: own, database });
            if (violations.length > 0)
              expect.fail(describeFailure(await simulate({ seed: own, database, trace: true })));
          }
        }),
      );
      console.log(`simulator on ${name}: ${seed - FIRST} histories from SAMEKEY_SEED=${FIRST}`);
      expect(seed).toBeGreaterThan(FIRST);
    });

    it('a history replays exactly from its seed, on whatever lane', async () => {
      for (const seed of [42, 43, 44]) {
        const [one, two] = await Promise.all(
          lanes.slice(0, 2).map(({ database }) => simulate({ seed, database, trace: true })),
        );
        expect(two?.trace).toEqual(one?.trace);
      }
    });

    it('a finish without its fence is found', async () => {
      const [lane] = lanes;
      for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
        const { violations } = await simulate({
          seed,
          database: async (machine) => {
            const database = (await lane?.database(machine)) ?? expect.fail('no lane');
            return { connect: () => withoutFence(database.connect()) };
          },
        });
        if (violations.length > 0)
          return console.log(`${name}: found at seed ${seed}, ${violations[0]?.what}`);
      }
      expect.fail(`not found within ${HISTORIES_MAX} histories`);
    });
  });
}

for (const { name, open } of availableClients()) {
  histories(`SQLite with ${name}`, async () => {
    const file = temporaryFile();
    const lane = await sqliteLane(() => open(file.path));
    return {
      ...lane,
      async close() {
        await lane.close();
        file.remove();
      },
    };
  });
}

const postgresServers = availablePostgres();
const [anyServer] = postgresServers;
for (const source of postgresServers) {
  describe(source.name, () => {
    let server: PostgresServer;
    let url = '';
    beforeAll(async () => {
      server = await startPostgres(source);
      url = await server.createDatabase();
    });
    afterAll(() => server.stop());
    histories(source.name, (n) => postgresLane(url, `lane${n}`));
    if (source === anyServer) {
      histories('the distributed store', (n) => distributedLane(url, `distributed${n}`, 'other'));
    }
  });
}

const citus = citusUrl();
if (citus !== undefined) {
  histories('Citus', (n) => distributedLane(citus, `simulated_${process.pid}_${n}`, 'citus'));
}

for (const source of availableMysql()) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());
    histories(source.name, async () => mysqlLane(await server.createDatabase()));
  });
}

describe.runIf(isRedisHere())('Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    // What survives a crash is not the question here.
    server = await startRedis({ appendfsync: 'everysec' });
  });
  afterAll(() => server.stop());
  histories('Redis', (n) => redisLane(server.url, `lane-${process.pid}-${n}`));
});

describe('DynamoDB', () => {
  // One tells the old item where a condition failed, one does not; lanes take them in turn.
  const sources = availableDynamoDb();
  let servers: DynamoDbServer[] = [];
  beforeAll(async () => {
    servers = await Promise.all(sources.map(startDynamoDb));
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));
  histories('DynamoDB', async (n) =>
    dynamodbLane(servers.at(-1 - (n % servers.length)) ?? expect.fail('no server')),
  );
});
