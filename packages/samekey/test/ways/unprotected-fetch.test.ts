/** What a handler may do with `fetch`, and what is warned of in development. A real server listens; Node's own `fetch` calls. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'libsql';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createSamekey, type PhasedAttempt, type Samekey, type SamekeyEvent } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { sqliteStore, type SqliteTransaction } from '../../src/stores/sqlite/index.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';

type Misuse = Extract<SamekeyEvent, { type: 'misuse' }>;
type Run = (attempt: PhasedAttempt<SqliteTransaction>) => Promise<unknown>;

describe('a fetch made by a handler', () => {
  let server: Server;
  let origin: string;
  const methods: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      methods.push(String(request.method));
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  const send = async (method: string): Promise<null> => {
    await (await fetch(origin, { method })).text();
    return null;
  };
  let keys = 0;

  /** An instance on SQLite, what it told of misuse, and how to run a phased operation on it. */
  async function setUp() {
    // Warnings are what this is about; the machine's channel for them is not.
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const misuse: Misuse[] = [];
    const store = sqliteStore({ service: 'test', database: new Database(':memory:') });
    await store.migrate();
    const samekey: Samekey<SqliteTransaction> = createSamekey({
      store,
      transactions: fromSqlite(store),
      onEvent: (event) => {
        if (event.type === 'misuse') misuse.push(event);
      },
    });
    const phased = (name: string, run: Run) => {
      const operation = samekey.phased({ name, run: (_input: null, attempt) => run(attempt) });
      return (key = `k-${(keys += 1)}`) => operation.run({ scope: ['t'], key, input: null });
    };
    return { samekey, misuse, phased };
  }

  const REPEATABLE = { rule: 'downstreamKey', retentionMs: 60_000 } as const;

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'outside of an effect is warned of when it is a %s',
    async (method) => {
      const { misuse, phased } = await setUp();
      await phased('pay', () => send(method))();
      expect(misuse).toMatchObject([{ code: 'unprotected-call' }]);
      expect(misuse[0]?.message).toContain(
        `The handler of "pay" sent ${method} to ${origin} outside of an effect`,
      );
    },
  );

  it('is warned of once per operation', async () => {
    const { misuse, phased } = await setUp();
    const pay = phased('pay', () => send('POST'));
    const refund = phased('refund', () => send('POST'));
    for (const run of [pay, pay, refund, refund, pay]) await run();
    expect(misuse.map(({ message }) => /"(\w+)"/.exec(message)?.[1])).toEqual(['pay', 'refund']);
  });

  it('is warned of inside a phase, beside an effect, and when it is not awaited', async () => {
    const { misuse, phased } = await setUp();
    await phased('in-phase', (attempt) => attempt.phase('note', () => send('POST')))();
    await phased('beside', async (attempt) => {
      await attempt.effect('charge', () => send('POST'), REPEATABLE);
      await send('POST');
    })();
    let sent: Promise<unknown> = Promise.resolve();
    await phased('not-awaited', async () => {
      sent = send('POST');
    })();
    await sent;
    expect(misuse.map(({ message }) => /"([\w-]+)"/.exec(message)?.[1])).toEqual([
      'in-phase',
      'beside',
      'not-awaited',
    ]);
  });

  it('is warned of in a transactional handler, which may run again too', async () => {
    const { misuse, samekey } = await setUp();
    const order = samekey.transactional({ name: 'order', run: () => send('POST') });
    await order.run({ scope: ['t'], key: 'order', input: null });
    expect(misuse).toMatchObject([{ code: 'unprotected-call' }]);
  });

  it('is not warned of inside an effect, nor when the effect asks about itself', async () => {
    const { misuse, phased } = await setUp();
    let calls = 0;
    const pay = phased('pay', (attempt) =>
      attempt.effect(
        'charge',
        async () => {
          await send('POST');
          calls += 1;
          throw new Error('the reply was lost');
        },
        { rule: 'inquire', inquire: async () => ({ result: await send('POST') }) },
      ),
    );
    expect(await pay('asked')).toMatchObject({ kind: 'in-progress' });
    expect(await pay('asked')).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(calls).toBe(1);
    expect(misuse).toEqual([]);
  });

  it('is not warned of when it only reads', async () => {
    const { misuse, phased } = await setUp();
    await phased('look', async () => {
      await send('GET');
      return send('HEAD');
    })();
    expect(misuse).toEqual([]);
  });

  it('is not warned of when other code makes it, even while the handler runs, or a plain handler', async () => {
    const { misuse, phased } = await setUp();
    const at = methods.length;
    await send('POST');
    const [running, held] = [signal(), signal()];
    const paying = phased('pay', async () => {
      running.give();
      await held.given;
      return null;
    })();
    await running.given;
    await send('POST');
    held.give();
    await paying;
    await createSamekey({
      store: memoryStore(),
      onEvent: (event) => event.type === 'misuse' && misuse.push(event),
    }).run({ operation: 'plain', scope: ['t'], key: 'plain', fingerprint: null, policy: 'payments' }, () =>
      send('POST'),
    );
    expect(methods.slice(at)).toEqual(['POST', 'POST', 'POST']);
    expect(misuse).toEqual([]);
  });

  it('is not warned of in production', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const { misuse, phased } = await setUp();
    const at = methods.length;
    await phased('pay', () => send('POST'))();
    expect(methods.slice(at)).toEqual(['POST']);
    // A store in memory is told of there (F100).
    expect(misuse.map(({ code }) => code)).toEqual(['store-not-durable']);
  });
});

/** Something to wait for. */
function signal() {
  let give: (() => void) | undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give?.() };
}
