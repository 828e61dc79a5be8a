/**
 * Every statement that the console makes goes by an index, and reads few pages, in a table as it is after a month.
 * `npm run prove -- --only console-plans` does it with 1,000,000 records and keeps the plans.
 */

import { writeFileSync } from 'node:fs';
import { Client } from 'pg';
import { createSamekey, reply, type Samekey } from 'samekey';
import { postgresStore } from 'samekey/stores/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { called } from './called.ts';
import {
  anyPostgres,
  availablePostgres,
  type PostgresServer,
  startPostgres,
} from '../../samekey/test/services/postgres.ts';
import {
  BIG_CALLER,
  CALLERS,
  fillPostgres,
  LEFT_CALLER,
  type Planned,
  watchStatements,
} from './filled-postgres.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

/** Of the proof, which takes one server. */
const MANY = process.env['SAMEKEY_CONSOLE_RECORDS'];
const RECORDS = Number(MANY ?? 60_000);
const PLANS = process.env['SAMEKEY_CONSOLE_PLANS'];

/** PostgreSQL plans five times with the values before it considers a plan for all of them. */
const TIMES = 7;

/** These count everything, are told with their age, and rest twenty times as long as they took. */
const COUNTING = ['count', 'count_messages'];

/** Each record of most callers by the unique index, and as much again as a list of the newest takes. */
const PAGES_MAX = 250 + (4.5 * RECORDS) / CALLERS;

const often = (body: object): readonly object[] => Array.from({ length: TIMES }, () => body);
function expectIndexes(plans: readonly Planned[], pagesMax = PAGES_MAX): void {
  expect(plans.length).toBeGreaterThan(0);
  for (const { verb, statement, plan, pages } of plans) {
    if (COUNTING.includes(statement)) continue;
    expect(plan, `${verb}: ${statement}`).not.toMatch(/Seq Scan on samekey/);
    expect(pages ?? 0, `${verb}: ${statement}\n${plan}`).toBeLessThanOrEqual(pagesMax);
  }
}

for (const source of MANY === undefined ? availablePostgres() : [anyPostgres()]) {
  if (source === undefined) continue;
  describe(`plans of the console: ${source.name}`, () => {
    let server: PostgresServer;
    let samekey: Samekey;
    let served: Served;
    const watcher = watchStatements();
    const all: Planned[] = [];

    beforeAll(async () => {
      server = await startPostgres(source, { max_wal_size: '4GB', autovacuum: 'off' });
      const connectionString = await server.createDatabase();
      const store = postgresStore({
        service: 'shop',
        connect: () => watcher.watch(new Client({ connectionString })),
      });
      samekey = createSamekey({ store, policy: 'payments' });
      await store.migrate();
      const admin = new Client({ connectionString });
      await admin.connect();
      await fillPostgres(admin, { records: RECORDS, messages: RECORDS, audit: RECORDS / 2 });
      await admin.end();
      served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice', rights: ALL } });
    }, 300_000);
    afterAll(async () => {
      if (PLANS !== undefined) writeFileSync(PLANS, textOf(all));
      await served?.close();
      await samekey?.close();
      await server?.stop();
    });

    async function request(key: string, status: number): Promise<void> {
      await samekey.run({ scope: ['acme', 'c1'], key, operation: 'POST /payments', fingerprint: 1 }, () =>
        reply(status, { key }),
      );
    }
    async function rowOf(key: string) {
      const { rows } = (await served.ask('records', { caller: 'acme/c1', key })).body;
      return rows[0] as { scope: string; key: string; claimId: string; attempt: number; state: string };
    }

    /** Asks as often as a plan takes to settle, and looks at what was sent. */
    async function planned(verb: string, bodies: readonly object[]): Promise<readonly Planned[]> {
      watcher.verb = '';
      await served.ask('records');
      watcher.verb = `${verb} ${JSON.stringify(bodies[0])}`.slice(0, 110);
      for (const body of bodies) expect((await served.ask(verb, body)).status).toBe(200);
      const plans = await watcher.plans();
      watcher.verb = '';
      all.push(...plans);
      return plans;
    }
    it('the overview reads the newest and the unknown ones', async () => {
      expectIndexes(await planned('overview', often({})));
    });

    it.each([
      ['nothing', {}],
      ['a state with an index', { states: ['unknown'] }],
      ['a caller of few records', { caller: 'acme/c7' }],
      ['a caller of a third of all', { caller: BIG_CALLER }],
      ['a caller that is none', { caller: 'acme/nobody' }],
      ['a caller and an operation', { caller: 'acme/c7|POST /payments' }],
    ])('a list by %s is read by an index', async (_name, filter) => {
      const first = await planned('records', often(filter));
      expectIndexes(first);
      const { cursor } = (await served.ask('records', filter)).body;
      if (cursor !== null) expectIndexes(await planned('records', often({ ...filter, cursor })));
    });

    it('a caller who has left is not looked for on the way back from the newest', async () => {
      // They have twice as many as the others.
      expectIndexes(await planned('records', often({ caller: LEFT_CALLER })), 2 * PAGES_MAX);
    });

    it('a key of one caller is found in the part of the index that is the caller’s', async () => {
      const filter = { caller: BIG_CALLER, key: 'filled-300' };
      // Servers before 18 walk that part.
      expectIndexes(await planned('records', often(filter)), PAGES_MAX + RECORDS / 100);
    });

    it.each([
      ['an operation', { operation: 'POST /nowhere' }],
      ['another state', { states: ['failed'] }],
      ['a key without its caller', { key: 'filled-1' }],
      ['a hash', { key: '#AAAAAAAAAAAAAAAA' }],
    ])('a list by %s goes from the newest back, as far as its bound', async (_name, filter) => {
      expectIndexes(await planned('records', [filter, filter]));
    });

    it('a record, its steps, messages and audit', async () => {
      await request('plan-look', 500);
      const { scope, key } = await rowOf('plan-look');
      expectIndexes(await planned('record', often({ scope, key })));
      expectIndexes(await planned('reveal', often({ scope, key, reason: 'why' })));
    });

    it('what a provider has of a call leads to its record by the references alone', async () => {
      expectIndexes(await planned('records', often({ reference: 'pi_of_nobody' })));
      expect((await served.ask('records', { reference: 'pi_of_one' })).body.rows).toEqual([]);
      await called(samekey.store, { scope: 'acme/c1|order', key: 'plan-call' }, 'provider-id', 'pi_of_one');
      const plans = await planned('records', often({ reference: 'pi_of_one' }));
      expect(plans.map(({ statement }) => statement).toSorted()).toEqual(['find', 'find_referred']);
      expectIndexes(plans, 50);
    });

    it('the same content under new keys', async () => {
      expectIndexes(await planned('minted', [{ caller: BIG_CALLER }, { caller: BIG_CALLER }]));
    });

    it('the audit', async () => {
      expectIndexes(await planned('audit', often({})));
      expectIndexes(await planned('audit', often({ before: String(RECORDS / 4) })));
      expectIndexes(await planned('audit', often({ scope: 'acme/c7|POST /payments', key: 'filled-7' })));
    });

    it('dead letters, by topic and page, and what is done with them', async () => {
      expectIndexes(await planned('letters', often({})));
      expectIndexes(await planned('letters', often({ topic: 'mail-0' })));
      expectIndexes(await planned('letters', often({ topic: 'mail-0', after: RECORDS / 2 })));
      expectIndexes(await planned('preview-requeue', often({ ids: ['filled-2000', 'filled-6000'] })));
      expectIndexes(await planned('requeue', often({ ids: ['filled-2000'], reason: 'why' })));
      expectIndexes(await planned('drop', often({ ids: ['filled-6000'], reason: 'why' })));
    });

    it('acts, with their previews', async () => {
      const acts = [
        { act: 'settle', to: 'completed', response: { status: 201, body: '{}' }, status: 500 },
        { act: 'reopen', status: 409 },
        { act: 'forget', status: 201 },
      ];
      for (const { status, ...act } of acts) {
        const bodies: object[] = [];
        for (let i = 0; i < TIMES; i += 1) {
          await request(`plan-${act.act}-${i}`, status);
          const { scope, key, claimId, attempt, state } = await rowOf(`plan-${act.act}-${i}`);
          bodies.push({ ...act, scope, key, seen: { claimId, attempt, state }, reason: 'why' });
        }
        expectIndexes(await planned('preview', bodies));
        expectIndexes(await planned('act', bodies));
      }
    });

    it('erasing a caller', async () => {
      expectIndexes(await planned('preview-erase', often({ caller: 'acme/c9' })));
      expectIndexes(await planned('erase', often({ caller: 'acme/nobody', reason: 'why' })));
    });
  });
}

function textOf(plans: readonly Planned[]): string {
  return plans
    .map(
      ({ verb, statement, plan, pages }) =>
        `## ${verb}\n### ${statement}${pages === null ? '' : `: ${pages} pages`}\n${plan}\n`,
    )
    .join('\n');
}
