/** Hints by LISTEN/NOTIFY: who waits reads at once; and whatever becomes of the hints, who waits finds out. */

import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { RecordId } from '../../src/core/record.ts';
import type { ChangeHints, Store } from '../../src/store/store.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { systemWorld } from '../../src/system.ts';
import { pgBouncerProgram, startPgBouncer } from '../services/pgbouncer.ts';
import { anyPostgres } from '../services/postgres.ts';
import { CLIENTS, type TestClient } from './postgres-clients.ts';
import { type TestDatabase, useServer } from './postgres-setup.ts';

const REQUEST = { operation: 'pay', scope: ['t'], key: 'secret-key', fingerprint: 1 } as const;
const WAIT_MS = 20_000;
const NOTHING = (): void => undefined;
/** The waiter's own look, as `engine/waiter.ts` has it. */
const TICK_MS = 25;

interface Node {
  readonly samekey: Samekey;
  readonly store: Store;
  readonly hints: ChangeHints;
  finds: number;
}

/** A process with hints. Without `ticks` its waiter never looks by itself: only a hint makes it read. */
async function startNode(db: TestDatabase, client: TestClient, ticks: boolean, url = db.url): Promise<Node> {
  const store = await db.store({ ...client.options(url), notify: true });
  const world = systemWorld();
  const { hints } = store;
  if (hints === undefined) throw new Error('a store with notify gives hints');
  const samekey = createSamekey({
    store: {
      ...store,
      find(ids) {
        node.finds += 1;
        return store.find(ids);
      },
    },
    policy: 'standard',
    world: {
      ...world,
      setTimer: (ms, run) =>
        ticks || ms !== TICK_MS ? world.setTimer(ms, run) : { cancel: () => undefined },
    },
  });
  const node: Node = { samekey, store, hints, finds: 0 };
  return node;
}

/** The sessions that listen or have just notified, without the one that asks. */
const OURS = `pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND (query ILIKE 'listen %' OR query LIKE '%pg_notify%')`;

/** Somebody else on the channel. */
class Listener {
  readonly heard: string[] = [];
  readonly #session: Client;
  #channel = '';

  constructor(session: Client) {
    this.#session = session;
  }

  /** Waits until `count` sessions of stores have said LISTEN; what they say later they say on the same sessions. */
  async sessions(count: number): Promise<readonly string[]> {
    for (;;) {
      const { rows } = await this.#session.query<{ query: string }>(`SELECT query FROM ${OURS}`);
      if (rows.length >= count) return rows.map(({ query }) => query);
      await new Promise((resolve) => void setTimeout(resolve, 10));
    }
  }

  /** Listens itself, once so many do. */
  async open(count: number): Promise<void> {
    const queries = await this.sessions(count);
    const [, channel] = /^listen "?(\w+)/i.exec(queries.find((query) => /^listen/i.test(query)) ?? '') ?? [];
    if (channel === undefined) throw new Error(`nobody has said LISTEN: ${queries.join('; ')}`);
    this.#channel = channel;
    this.#session.on('notification', ({ payload }) => void this.heard.push(payload ?? ''));
    await this.#session.query(`LISTEN ${channel}`);
  }

  /** Until the process has heard everything that was said before: notifications keep their order. */
  async caughtUp({ hints }: Node): Promise<void> {
    const id: RecordId = { scope: 'marker', key: `m${this.heard.length}` };
    const from = this.heard.length;
    let end = NOTHING;
    const heard = new Promise<void>((resolve) => {
      end = hints.watch(id, resolve);
    });
    const name = await this.next(/^w,(\w+)$/, from);
    await this.#session.query('SELECT pg_notify($1, $2)', [this.#channel, `c,${name}`]);
    await heard;
    end();
  }

  async terminateAll(): Promise<void> {
    await this.#session.query(`SELECT pg_terminate_backend(pid) FROM ${OURS}`);
  }

  /** The first group of the first payload that matches. */
  async next(pattern: RegExp, from = 0): Promise<string> {
    for (;;) {
      for (const payload of this.heard.slice(from)) {
        const picked = pattern.exec(payload)?.[1];
        if (picked !== undefined) return picked;
      }
      await this.#session.query('SELECT pg_sleep(0.005)');
    }
  }
}

/** `a` works on the key until told to end; `b` waits for it. */
async function waitFor(a: Node, b: Node): Promise<{ release: () => void; told: Promise<unknown> }> {
  let release = NOTHING;
  let started = NOTHING;
  const running = new Promise<void>((resolve) => (started = resolve));
  const gate = new Promise<void>((resolve) => (release = resolve));
  const first = a.samekey.run(REQUEST, async () => {
    started();
    await gate;
    return 'done';
  });
  await running;
  const watch = new Promise<void>((resolve) => {
    const original = b.hints.watch.bind(b.hints);
    Object.assign(b.hints, {
      watch(...args: Parameters<typeof original>) {
        resolve();
        return original(...args);
      },
    });
  });
  const told = b.samekey.run({ ...REQUEST, waitMaxMs: WAIT_MS }, () => 'twice');
  await watch;
  return { release, told: Promise.all([first, told]).then(([, second]) => second) };
}

const source = anyPostgres();
const REPLAY = { kind: 'replay', value: 'done' };

describe.runIf(source !== undefined)('hints by NOTIFY', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  for (const client of CLIENTS) {
    it(`make a waiting process read before it would have looked by itself (${client.name})`, async () => {
      const db = await database();
      const [a, b] = [await startNode(db, client, true), await startNode(db, client, false)];
      const listener = new Listener(await db.session());
      await listener.open(2);
      const { release, told } = await waitFor(a, b);
      await listener.next(/^w,(\w+)$/);
      await listener.caughtUp(a);
      expect(b.finds).toBe(0);
      release();
      expect(await told).toMatchObject(REPLAY);
      expect(b.finds).toBe(1);
      // What is said names no key.
      expect(listener.heard.filter((payload) => !/^[wc](,[0-9a-f]{8})+$/.test(payload))).toEqual([]);
    });

    it(`may be lost: a process whose listening session is killed finds out by reading (${client.name})`, async () => {
      const db = await database();
      const [a, b] = [await startNode(db, client, true), await startNode(db, client, true)];
      const listener = new Listener(await db.session());
      await listener.open(2);
      const { release, told } = await waitFor(a, b);
      await listener.terminateAll();
      release();
      expect(await told).toMatchObject(REPLAY);
      expect(b.finds).toBeGreaterThan(0);
      // And both listen again.
      await listener.sessions(2);
    });
  }

  it('cost nothing when nobody waits: nothing is said', async () => {
    const db = await database();
    const [client] = CLIENTS;
    if (client === undefined) return;
    const a = await startNode(db, client, true);
    const listener = new Listener(await db.session());
    await listener.open(1);
    for (let i = 0; i < 20; i += 1) await a.samekey.run({ ...REQUEST, key: `k${i}` }, () => i);
    await listener.caughtUp(a);
    expect(listener.heard.filter((payload) => payload.startsWith('c'))).toHaveLength(1);
    expect(listener.heard.filter((payload) => payload.startsWith('w'))).toHaveLength(1);
  });

  const program = pgBouncerProgram();
  it.runIf(program !== undefined)('are not tried behind a pooler; who waits reads', async () => {
    const db = await database();
    const bouncer = await startPgBouncer(program ?? '', db.url);
    try {
      const [client] = CLIENTS;
      if (client === undefined) return;
      const nodes = [
        await startNode(db, client, true, bouncer.url),
        await startNode(db, client, true, bouncer.url),
      ];
      const { release, told } = await waitFor(nodes[0] as Node, nodes[1] as Node);
      release();
      expect(await told).toMatchObject(REPLAY);
      const session = await db.session();
      const { rows } = await session.query(`SELECT query FROM ${OURS}`);
      expect(rows).toEqual([]);
      await db.close();
    } finally {
      await bouncer.stop();
    }
  });
});
