/**
 * The contract of sealed stores: whatever goes into one by whatever way, nothing of it stands clear in what is stored or handed out. One
 * walk over every verb, of the store, of its messages and of its transactions; a verb without a row here fails it, so that a new one cannot
 * be forgotten (F123).
 *
 * Invariants: what is looked at are the bytes that the database holds · each walk finds its text on the store that is not sealed, so that it
 * cannot look in the wrong place.
 */

import assert from 'node:assert/strict';
import type { NewMessage, StoreWithMessages } from 'samekey/internals/store/message';
import type { StoredResponse } from 'samekey/internals/core/response';
import type { CheckpointRequest, FencedId, FinishRequest, Store } from 'samekey/internals/store/store';
import type { Within } from 'samekey/internals/store/transaction';
import {
  claimed,
  claimRequest,
  finished,
  finishRequest,
  only,
  settleRequest,
  type TestRunner,
} from './contract/context.ts';

/** A fresh store, sealed and as it is, on the same data. */
export interface SealedUnderTest {
  readonly sealed: Store;
  readonly clear: Store;
  /** All that is stored, in characters of one byte, or with bytes as hexadecimal digits. */
  bytes(): string | Promise<string>;
  /** Runs `body` in a transaction on the database. Absent: the store has none. */
  transaction?<T>(store: Store, body: (within: Within) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** How the contract gets them. */
export interface SealedHarness {
  readonly name: string;
  open(): Promise<SealedUnderTest>;
}

/** Stands in everything that is given to the store. */
const CLEAR = 'this text must be sealed';
const BYTES = new TextEncoder().encode(CLEAR);
const HEX = Buffer.from(BYTES).toString('hex');

const ANSWER: StoredResponse = { status: 200, headers: [['x-text', CLEAR]], body: BYTES };
const ended = { response: ANSWER };
const accepted = { entry: 'accept', input: BYTES } as const;

/** Puts it in by one verb; what it returns was handed out. */
type Walk = (t: SealedUnderTest, store: Store) => Promise<unknown>;

/** Nothing that is sealed goes in by these. */
const HOLDS_NOTHING: readonly string[] = [
  'renew',
  'find',
  'identity',
  'sweep',
  'due',
  'reap',
  'takeUnknown',
  'postpone',
  'reopen',
  'forget',
  'erase',
  'list',
  'count',
  'audit',
  'note',
  'pruneAudit',
  'ready',
  'close',
  'refuseCaller',
  'onClockOff',
  'migrate',
  'status',
  'transaction',
  'transactionFault',
  'opening',
  'reservations',
  'reapBodies',
];

const VERBS: Readonly<Record<string, Walk>> = {
  claim: (_, store) => store.claim([claimRequest(accepted)]),
  async finish(_, store) {
    return store.finish([finishRequest(await claimed(store), 'completed', ended)]);
  },
  async checkpoint(_, store) {
    return store.checkpoint([stepsOf(await claimed(store))]);
  },
  async settle(_, store) {
    const owner = await finished(store, 'unknown');
    return store.settle([{ ...settleRequest(owner, 'completed'), ...ended }]);
  },
  async within(t, store) {
    assert.ok(t.transaction !== undefined, 'a store with within() needs the harness to open transactions');
    const ends = await claimed(store, { key: 'ends' });
    const goesOn = await claimed(store, { key: 'goes-on' });
    await t.transaction(store, async (within) => within.finish(finishRequest(ends, 'completed', ended)));
    await t.transaction(store, async (within) => within.checkpoint(stepsOf(goesOn)));
    if ('messages' in store) await t.transaction(store, async (within) => within.enqueue([MESSAGE]));
    const claim = claimRequest({ key: 'reserved' });
    const end = finishRequest({ ...claim, attempt: 1 }, 'completed', ended);
    await t.transaction(store, async (within) => {
      await within.reserve?.(claim, 30_000);
      await within.record?.({ claim, end });
    });
  },
  async completionItem(_, store) {
    const handedOut = await (store as unknown as HandsOut).completionItem(
      finishRequest(await claimed(store), 'completed', ended),
    );
    assert.equal(handedOut.kind, 'item');
    return handedOut;
  },
};

const MESSAGE_VERBS: Readonly<Record<string, Walk>> = {
  enqueue: (_, store) => messagesOf(store).enqueue([MESSAGE]),
  done: (t, store) => endDelivery(t, store, 'done'),
  dead: (t, store) => endDelivery(t, store, 'dead'),
};
const MESSAGES_HOLD_NOTHING: readonly string[] = [
  'take',
  'extend',
  'retry',
  'note',
  'requeue',
  'drop',
  'list',
  'count',
  'tidy',
  'listen',
  'idle',
];

const MESSAGE: NewMessage = {
  id: 'message-1',
  topic: 'mail',
  group: null,
  payload: JSON.stringify(CLEAR),
  headers: JSON.stringify({ text: CLEAR }),
  delayMs: 0,
  owner: null,
};

/** An answer that is written by somebody else, as an element of a transaction of theirs. */
interface HandsOut {
  completionItem(request: FinishRequest): Promise<{ readonly kind: string }>;
}

/** Adds the contract's tests to the runner. */
export function sealedContract(runner: TestRunner, harness: SealedHarness): void {
  async function on(body: (t: SealedUnderTest) => Promise<void>): Promise<void> {
    const t = await harness.open();
    try {
      await body(t);
    } finally {
      await t.close();
    }
  }

  runner.describe(`sealed contract: ${harness.name}`, () => {
    // F123
    runner.it('knows every verb', () =>
      on(async ({ sealed, clear }) => {
        assert.deepEqual(unknownTo([VERBS, HOLDS_NOTHING], sealed), []);
        assert.deepEqual(namesOf(sealed), namesOf(clear));
        if (!('messages' in sealed)) return;
        assert.deepEqual(unknownTo([MESSAGE_VERBS, MESSAGES_HOLD_NOTHING], messagesOf(sealed)), []);
      }),
    );

    for (const [group, verbs] of [
      ['', VERBS],
      ['messages.', MESSAGE_VERBS],
    ] as const) {
      for (const [verb, walk] of Object.entries(verbs)) {
        runner.it(`${group}${verb} lets nothing through clear`, async () => {
          await on(async (t) => {
            if (!has(t.sealed, group, verb)) return;
            const handedOut = shown(await walk(t, t.sealed));
            assert.ok(!holds(handedOut), `${verb} hands out what must be sealed`);
            assert.ok(!holds(await t.bytes()), `${verb} stores what must be sealed`);
          });
          await on(async (t) => {
            if (!has(t.clear, group, verb)) return;
            const handedOut = shown(await walk(t, t.clear));
            assert.ok(
              holds(handedOut) || holds(await t.bytes()),
              `${verb}: the walk looks in the wrong place`,
            );
          });
        });
      }
    }
  });
}

function has(store: Store, group: string, verb: string): boolean {
  if (group === '') return verb in store;
  return 'messages' in store && verb in messagesOf(store);
}

/** Functions without a row. */
function unknownTo(
  [walks, none]: readonly [Readonly<Record<string, Walk>>, readonly string[]],
  of: object,
): readonly string[] {
  return namesOf(of).filter((name) => !(name in walks) && !none.includes(name));
}

function namesOf(of: object): readonly string[] {
  return Object.entries(of)
    .flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
    .toSorted();
}

function holds(text: string): boolean {
  return text.includes(CLEAR) || text.toLowerCase().includes(HEX);
}

/** JSON in which bytes are hexadecimal digits. */
function shown(value: unknown): string {
  return (
    JSON.stringify(value, (_, each: unknown) =>
      each instanceof Uint8Array ? Buffer.from(each).toString('hex') : each,
    ) ?? ''
  );
}

function stepsOf(owner: FencedId): CheckpointRequest {
  return {
    ...owner,
    claimTtlMs: 10_000,
    recoveryPoint: 'a',
    steps: JSON.stringify([CLEAR]),
    intentOpen: false,
  };
}

/** Hands an attempt over with a message without text, and ends it with the message's delivery. */
async function endDelivery(t: SealedUnderTest, store: Store, by: 'done' | 'dead'): Promise<void> {
  assert.ok(t.transaction !== undefined, 'a store with messages needs the harness to open transactions');
  const owner = await claimed(store);
  await t.transaction(store, async (within) => {
    await within.handOver(owner);
    await within.enqueue([{ ...MESSAGE, payload: 'null', headers: null, owner }]);
  });
  const { taken } = await messagesOf(store).take({
    topics: [MESSAGE.topic],
    limit: 1,
    leaseId: 'lease-1',
    leaseMs: 10_000,
    suspectsMax: 1,
    deliveriesMax: 10,
  });
  const { id, place, leaseId, started } = only(taken);
  const lease = { id, place, leaseId, started };
  const record = finishRequest(owner, by === 'done' ? 'completed' : 'failed', { ...ended, handedOver: true });
  const results =
    by === 'done'
      ? await messagesOf(store).done([{ ...lease, record }])
      : await messagesOf(store).dead([{ ...lease, record, error: null, proven: false, begun: true }]);
  assert.deepEqual(results, ['applied']);
}

function messagesOf(store: Store): StoreWithMessages['messages'] {
  return (store as Store & StoreWithMessages).messages;
}
