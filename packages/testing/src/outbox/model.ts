/** Random histories of one process against the state table: after each step the store shows what the table says. */

import assert from 'node:assert/strict';
import {
  decideDead,
  decideEnqueue,
  decideRequeue,
  decideRetry,
  decideTake,
  holds,
} from 'samekey/internals/store/machine/messages';
import type { Lease, StoredMessage } from 'samekey/internals/store/message';
import { createRandom, type Random } from '../random.ts';
import { type AddOutboxTest, failed, given, LEASE_MS, message, type OutboxUnderTest, take } from './bench.ts';

const HISTORIES = 6;
const STEPS = 40;
const DELIVERIES_MAX = 3;

/** Adds the tests. */
export function outboxModelTests(test: AddOutboxTest): void {
  for (let i = 0; i < HISTORIES; i += 1) {
    const seed = 5_000 + i;
    test(`shows what the state table says, history ${seed}`, (t) => play(t, createRandom(seed)));
  }
}

async function play(t: OutboxUnderTest, random: Random): Promise<void> {
  const { messages } = t.store;
  const model = new Model();
  const leases: Lease[] = [];
  const start = (await firstTime(t)) ?? 0;
  model.now = start;
  for (let step = 0; step < STEPS; step += 1) {
    const lease = leases.length === 0 ? undefined : random.pick(leases);
    switch (random.between(0, 7)) {
      case 0:
      case 1: {
        const group = random.pick([null, 'a', 'b']);
        const made = message({ group, delayMs: random.pick([0, 0, 4_000]) });
        await messages.enqueue([made]);
        model.rows.push(decideEnqueue(made, model.nextPlace(), model.now));
        break;
      }
      case 2: {
        const ms = random.pick([1, 3_000, LEASE_MS]);
        await t.advance(ms);
        model.now += ms;
        break;
      }
      case 3:
      case 4: {
        const leaseId = `take-${step}`;
        const taken = await take(messages, { leaseId, deliveriesMax: DELIVERIES_MAX });
        leases.push(...taken);
        assert.deepEqual(taken.map(({ id }) => id).toSorted(), model.take(leaseId).toSorted());
        break;
      }
      case 5:
        if (lease !== undefined) {
          const [result] = await messages.done([{ ...lease, record: null }]);
          assert.equal(
            result,
            model.end(lease, () => null),
          );
        }
        break;
      case 6:
        if (lease !== undefined) {
          const request = failed(lease, {
            proven: random.chance(0.5),
            begun: random.chance(0.8),
            delayMs: 2_000,
          });
          const [result] = await messages.retry([request]);
          assert.equal(
            result,
            model.end(lease, (row) => decideRetry(row, request, model.now)),
          );
        }
        break;
      default: {
        const dead = model.rows.find(({ state }) => state === 'dead');
        if (dead !== undefined && random.chance(0.5)) {
          assert.deepEqual(await messages.requeue([dead.id], { reason: 'mended', actor: 'operator-1' }), [
            dead.id,
          ]);
          model.replace(dead, decideRequeue(dead, model.nextPlace(), model.now, null));
        } else if (lease !== undefined) {
          const [result] = await messages.dead([given(lease)]);
          assert.equal(
            result,
            model.end(lease, (row) => decideDead(row, given(lease), model.now)),
          );
        }
      }
    }
    const shown = await messages.list({ limit: 1_000 });
    assert.deepEqual(shown.map(facts), model.rows.toSorted((a, b) => a.place - b.place).map(facts));
  }
}

/** The store's time, as it writes it. */
async function firstTime({ store: { messages } }: OutboxUnderTest): Promise<number | undefined> {
  const probe = message({ topic: 'probe' });
  await messages.enqueue([probe]);
  const [row] = await messages.list({});
  const [taken] = await take(messages, { topics: ['probe'] });
  if (taken !== undefined) await messages.done([{ ...taken, record: null }]);
  return row?.createdAt;
}

/** The table, applied to a list. */
class Model {
  now = 0;
  rows: StoredMessage[] = [];
  #place = 0;

  nextPlace(): number {
    this.#place += 1;
    return this.#place;
  }

  take(leaseId: string): string[] {
    const ids: string[] = [];
    const request = { leaseId, leaseMs: LEASE_MS, deliveriesMax: DELIVERIES_MAX };
    const before = this.rows.toSorted((a, b) => a.place - b.place);
    const met = new Map<string, number>();
    for (const row of before) {
      const isHead = row.group === null || this.#first(row.group, before)?.place === row.place;
      const over = row.state === 'leased' && row.dueAt <= this.now;
      const after = decideTake(row, request, { now: this.now, over, isHead });
      if (after === undefined) continue;
      this.replace(row, after);
      if (after.state === 'leased') ids.push(row.id);
      else if (row.group !== null && !met.has(row.group)) met.set(row.group, row.place);
    }
    // Whatever is behind it is parked with it.
    this.rows = this.rows.map((row) => {
      const place = row.group === null ? undefined : met.get(row.group);
      return place !== undefined && row.place > place && row.state === 'ready'
        ? { ...row, parked: true }
        : row;
    });
    return ids;
  }

  end(lease: Lease, after: (row: StoredMessage) => StoredMessage | null): 'applied' | 'lost' {
    const row = this.rows.find(({ id }) => id === lease.id);
    if (row === undefined || !holds(row, lease)) return 'lost';
    const written = after(row);
    this.rows = this.rows.filter((each) => each !== row);
    if (written !== null) this.rows.push(written);
    if (row.group !== null && (written === null || written.state === 'dead')) {
      const next = this.#first(row.group, this.rows);
      if (next !== undefined) this.replace(next, { ...next, parked: false });
    }
    return 'applied';
  }

  replace(before: StoredMessage, after: StoredMessage): void {
    this.rows = this.rows.map((row) => (row === before ? after : row));
  }

  #first(group: string, rows: readonly StoredMessage[]): StoredMessage | undefined {
    return rows
      .filter((row) => row.group === group && row.state !== 'dead')
      .toSorted((a, b) => a.place - b.place)[0];
  }
}

/** All but the place, whose numbers are the store's own. */
function facts(row: StoredMessage): Omit<StoredMessage, 'place'> {
  const { id, topic, group, payload, headers, state, parked, dueAt, createdAt } = row;
  const { started, finished, proven, forgiven, leaseId, providerId, lastError, owner } = row;
  return {
    id,
    topic,
    group,
    payload,
    headers,
    state,
    parked,
    dueAt,
    createdAt,
    started,
    finished,
    proven,
    forgiven,
    leaseId,
    providerId,
    lastError,
    owner,
  };
}
