/** Distributed stores on schemas of their own whose clock only `advance` moves. */

import { Client } from 'pg';
import {
  type DistributedEngine,
  type DistributedPostgresStore,
  distributedPostgresStore,
} from '../../src/stores/postgres/distributed/index.ts';
import type { StoreHarness } from '../../../testing/src/store-contract.ts';
import type { TestClient } from './postgres-clients.ts';

let schemas = 0;

/** Which server a harness is for. */
export interface DistributedTarget {
  readonly name: string;
  readonly engine: DistributedEngine;
  /** Where stores connect, and users. */
  url(): string;
  /** Where the tests make schemas and move the clock; default `url`. */
  adminUrl?(): string;
  /** The role that owns the schemas, if it is not the one that makes them. */
  readonly owner?: string;
}

/** The contract's harness. */
export function distributedHarness(target: DistributedTarget, client: TestClient): StoreHarness {
  const { engine } = target;
  return {
    name: `${target.name} as ${engine} with ${client.name}`,
    async create(auditing) {
      schemas += 1;
      const schema = `d${process.pid}_${schemas}`;
      const now = `${schema}.now()`;
      const stores: DistributedPostgresStore[] = [];
      let elapsedMs = 0;
      const monotonicNow = (): number => elapsedMs;
      const open = (clockOffMs = 0): DistributedPostgresStore => {
        const store = distributedPostgresStore({
          ...client.options(target.url()),
          // It has no such option, and must say so.
          ...(auditing as object | undefined),
          engine,
          schema,
          // As long as this process uses the server, its clock is off.
          clock: clockOffMs === 0 ? now : `(${now} + ${clockOffMs} * interval '1 millisecond')`,
          now: monotonicNow,
          monotonicNow,
        });
        stores.push(store);
        return store;
      };
      // Refuses options before anything is made.
      const store = open();
      const admin = new Client(target.adminUrl === undefined ? target.url() : target.adminUrl());
      admin.on('error', () => undefined);
      await admin.connect();
      const owner = target.owner === undefined ? '' : `AUTHORIZATION ${target.owner}`;
      await admin.query(`CREATE SCHEMA ${schema} ${owner}`);
      await admin.query(`CREATE TABLE ${schema}.clock (now timestamptz NOT NULL)`);
      await admin.query(`INSERT INTO ${schema}.clock VALUES ('2030-01-01T00:00:00Z')`);
      // Stable, as statement_timestamp() is.
      await admin.query(
        `CREATE FUNCTION ${schema}.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now FROM ${schema}.clock'`,
      );
      if (target.owner !== undefined) await admin.query(`GRANT SELECT ON ${schema}.clock TO ${target.owner}`);
      await store.migrate();
      await store.ready();
      const users = client.users(target.url());
      return {
        store,
        async advance(ms) {
          await admin.query(`UPDATE ${schema}.clock SET now = now + $1 * interval '1 millisecond'`, [ms]);
          elapsedMs += ms;
        },
        async step(ms) {
          await admin.query(`UPDATE ${schema}.clock SET now = now + $1 * interval '1 millisecond'`, [ms]);
        },
        async another({ wallOffsetMs }) {
          const other = open(wallOffsetMs);
          await other.ready();
          return other;
        },
        transaction: (body) => users.transaction(store, body),
        async close() {
          await Promise.all(stores.map((each) => each.close()));
          await users.end();
          await admin.query('SET client_min_messages = error');
          await admin.query(`DROP SCHEMA ${schema} CASCADE`);
          await admin.end();
        },
      };
    },
  };
}
