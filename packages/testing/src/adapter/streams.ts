/**
 * Answers that cannot wait: event streams, endless ones, slow ones, broken ones (F41). What streams through is kept meanwhile, as
 * far as it may be (F81); what broke off is decided by the status that was given, and never stored in part (F104).
 */

import assert from 'node:assert/strict';
import type { PolicyName } from 'samekey/internals/core/policy';
import type { State } from 'samekey/internals/core/record';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { WireAnswer } from './client.ts';
import { assertProblem, assertReplay, header, json, text, withProbe } from './expect.ts';
import { type AddTest, gate, jsonRequest } from './kit.ts';

const EVENTS: HeaderLine = ['Content-Type', 'text/event-stream'];
const bytes = (chunk: string): Uint8Array => new TextEncoder().encode(chunk);

/** A stream that a test feeds. */
interface Channel {
  readonly stream: AsyncIterable<Uint8Array>;
  push(chunk: string): void;
  end(): void;
  fail(): void;
}

function channel(): Channel {
  const queue: (Uint8Array | null | Error)[] = [];
  let news = gate();
  const put = (item: Uint8Array | null | Error): void => {
    queue.push(item);
    news.open();
  };
  async function* read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const item = queue.shift();
      if (item === null) return;
      if (item instanceof Error) throw item;
      if (item !== undefined) yield item;
      else {
        news = gate();
        await news.opened;
      }
    }
  }
  return {
    stream: read(),
    push: (chunk) => put(bytes(chunk)),
    end: () => put(null),
    fail: () => put(new Error('the source broke')),
  };
}

/** What a broken body leaves of each status, by policy: what the status alone would have become. */
const BROKEN: readonly (readonly [policy: PolicyName, status: number, becomes: State])[] = [
  ['standard', 201, 'completed'],
  ['payments', 201, 'completed'],
  ['stripe', 201, 'completed'],
  ['standard', 422, 'failed'],
  ['payments', 503, 'unknown'],
  ['stripe', 503, 'failed'],
];

/** As `assertReplay`: the head of `first` left before its record was stored, so it cannot have said until when. */
function assertReplayed(first: WireAnswer, again: WireAnswer): void {
  assert.ok(header(again, 'idempotency-key-expires'));
  const headers = again.headers.filter(([name]) => name.toLowerCase() !== 'idempotency-key-expires');
  assertReplay(first, { ...again, headers });
}

export function streamTests(test: AddTest): void {
  // F41, F81
  test('an event stream passes through unbuffered, is kept meanwhile, and replayed to the byte', async (t) => {
    const events = channel();
    const app = await t.start({
      routes: [{ handler: () => ({ status: 200, headers: [EVENTS], stream: events.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    events.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    for (let i = 2; i <= 20; i += 1) {
      const event = `data: ${i} ${'x'.repeat(1_000)}\n\n`;
      events.push(event);
      await connection.sees(event);
    }
    events.end();
    const answer = await connection.answer();
    assert.ok(answer.status === 200 && answer.isComplete && answer.body.length > 19_000);
    assertReplayed(answer, await app.post('key-1'));
    assert.equal(app.runs, 1);
  });

  // F81
  test('a small answer whose end comes 1.5 s after its head is kept and replayed to the byte', async (t) => {
    const slow = channel();
    const app = await t.start({ routes: [{ handler: () => ({ status: 201, stream: slow.stream }) }] });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    slow.push('a'.repeat(72));
    slow.push('b');
    await app.saw('claimed');
    await t.passUntil(connection.sees('a'.repeat(72)), 1_500);
    slow.push('b'.repeat(71));
    slow.end();
    const answer = await connection.answer();
    assert.deepEqual([answer.status, answer.body.length, answer.isComplete], [201, 144, true]);
    assertReplayed(answer, await app.post('key-1'));
    assert.equal(app.runs, 1);
  });

  // F81
  for (const [what, headers] of [
    ['an event stream', [EVENTS]],
    ['a slow answer', []],
  ] as const) {
    test(`${what} that passes the limit is decided at once; the rest flows and holds no claim`, async (t) => {
      const big = channel();
      const options = { policy: 'payments', responseSizeMaxBytes: 1_000 } as const;
      const app = await t.start({
        routes: [{ options, handler: () => ({ status: 200, headers, stream: big.stream }) }],
      });
      const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
      big.push('a'.repeat(600));
      big.push('b'.repeat(600));
      assert.equal((await app.saw('finished')).to, 'completed');
      assertProblem(await app.post('key-1'), 410, 'response-not-stored');
      big.push('c'.repeat(600));
      await connection.sees('c'.repeat(600));
      big.end();
      const answer = await connection.answer();
      assert.deepEqual([answer.status, answer.body.length, answer.isComplete], [200, 1_800, true]);
      const again = await app.post('key-1');
      assertProblem(again, 410, 'response-not-stored');
      assert.equal(json(again)['originalStatus'], 200);
      assert.equal(app.runs, 1);
    });
  }

  // F81: its handler goes on, so that a second one may not begin beside it.
  test('an answer that may run again is not decided before its end, however large it is', async (t) => {
    const big = channel();
    const options = { policy: 'standard', responseSizeMaxBytes: 1_000 } as const;
    const app = await t.start({
      routes: [{ options, handler: () => ({ status: 503, headers: [EVENTS], stream: big.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    big.push('a'.repeat(2_000));
    await connection.sees('a'.repeat(2_000));
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    big.end();
    assert.equal((await connection.answer()).isComplete, true);
    assert.equal((await app.saw('finished')).to, 'retryable');
  });

  // F81
  test('copies of all streams share keptBytesMax: one that finds no room is not kept, and an event says so', async (t) => {
    const streams = [channel(), channel(), channel()];
    let next = 0;
    const app = await t.start({
      routes: [
        {
          handler: () => ({
            status: 200,
            headers: [EVENTS],
            stream: streams[next++]?.stream ?? channel().stream,
          }),
        },
      ],
      instance: { keptBytesMax: 1_500 },
    });
    const [first, second, third] = streams as [Channel, Channel, Channel];
    const one = app.open().send(jsonRequest('key-1', { amount: 1 }));
    first.push('a'.repeat(1_000));
    await one.sees('a'.repeat(1_000));
    const two = app.open().send(jsonRequest('key-2', { amount: 1 }));
    second.push('b'.repeat(1_000));
    const event = await app.saw('stream-not-kept');
    assert.deepEqual([event.id.key, event.attempt], ['key-2', 1]);
    await app.saw('finished');
    assertProblem(await app.post('key-2'), 410, 'response-not-stored');
    second.end();
    assert.equal((await two.answer()).isComplete, true);
    first.end();
    assertReplayed(await one.answer(), await app.post('key-1'));
    // What was kept has given its room back.
    const three = app.open().send(jsonRequest('key-3', { amount: 1 }));
    third.push('c'.repeat(1_000));
    third.end();
    assertReplayed(await three.answer(), await app.post('key-3'));
    assert.equal(app.count('stream-not-kept'), 1);
  });

  test('an endless stream is decided by its head when its time is up, goes on, and is not stored in part', async (t) => {
    const events = channel();
    const options = { policy: 'standard', attemptTimeMaxMs: 60_000 } as const;
    const app = await t.start({
      routes: [{ options, handler: () => ({ status: 200, headers: [EVENTS], stream: events.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    events.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    await t.world.advance(60_000);
    assert.equal((await app.saw('finished')).to, 'completed');
    assertProblem(await app.post('key-1'), 410, 'response-not-stored');
    events.push('data: 2\n\n');
    await connection.sees('data: 2\n\n');
    events.end();
    const answer = await connection.answer();
    assert.deepEqual([text(answer), answer.isComplete], ['data: 1\n\ndata: 2\n\n', true]);
    assertProblem(await app.post('key-1'), 410, 'response-not-stored');
    assert.equal(app.runs, 1);
  });

  // F68: its handler goes on.
  test('a stream that may run again and whose time is up is unknown: nothing runs beside its handler', async (t) => {
    const events = channel();
    const options = { policy: 'standard', attemptTimeMaxMs: 60_000 } as const;
    const app = await t.start({
      routes: [{ options, handler: () => ({ status: 503, headers: [EVENTS], stream: events.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    events.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    await t.world.advance(60_000);
    assert.equal((await connection.answer()).isComplete, false);
    assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
    events.end();
    assert.equal(app.runs, 1);
  });

  for (const [why, isTimeUp] of [
    ['that is larger than what is stored', false],
    ['whose time is up', true],
  ] as const) {
    test(`a stream ${why} does not decide by its head, if its handler has said that it does not know`, async (t) => {
      const events = channel();
      const options = { policy: 'standard', attemptTimeMaxMs: 60_000, responseSizeMaxBytes: 1_000 } as const;
      const app = await t.start({
        routes: [
          {
            options,
            handler({ attempt }) {
              attempt?.unknown('no reply');
              return { status: 200, headers: [EVENTS], stream: events.stream };
            },
          },
        ],
      });
      const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
      events.push('data: 1\n\n');
      await connection.sees('data: 1\n\n');
      if (isTimeUp) await t.world.advance(60_000);
      else {
        events.push('x'.repeat(2_000));
        await connection.sees('x'.repeat(2_000));
        // Its handler is at work: whoever asked a provider now would ask too early.
        assertProblem(await app.post('key-1'), 409, 'in-progress');
        events.end();
        assert.equal((await connection.answer()).isComplete, true);
      }
      if (isTimeUp) assert.equal((await connection.answer()).isComplete, false);
      else {
        const { to, reason } = await app.saw('finished');
        assert.deepEqual([to, reason], ['unknown', 'said-unknown: no reply']);
      }
      assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
      events.end();
      assert.equal(app.runs, 1);
    });
  }

  test('a slow answer streams through, but its end waits for the record', async (t) => {
    const slow = channel();
    const finishing = gate();
    const stored = gate();
    const world = withProbe(t.world, async (point) => {
      if (point !== 'finish.before') return;
      finishing.open();
      await stored.opened;
    });
    const app = await t.start({
      routes: [{ handler: () => ({ status: 200, stream: slow.stream }) }],
      instance: { world },
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    slow.push('one,');
    slow.push('two,');
    await app.saw('claimed');
    await t.passUntil(connection.sees('one,'));
    slow.push('three');
    slow.end();
    await finishing.opened;
    // By when somebody else was answered, what had been sent would have come.
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    assert.equal(connection.pending.includes('three'), false);
    stored.open();
    const answer = await connection.answer();
    assert.deepEqual([text(answer), answer.isComplete], ['one,two,three', true]);
    assertReplayed(answer, await app.post('key-1'));
  });

  test('a quick answer in chunks is held until it is stored, and replayed whole', async (t) => {
    const quick = channel();
    for (const chunk of ['one,', '', 'two,', 'three']) quick.push(chunk);
    quick.end();
    const app = await t.start({ routes: [{ handler: () => ({ status: 200, stream: quick.stream }) }] });
    assert.equal(text(await app.post('key-1')), 'one,two,three');
    const again = await app.post('key-1');
    assert.deepEqual([text(again), header(again, 'idempotency-replayed')], ['one,two,three', 'true']);
  });

  // F104
  for (const [policy, status, becomes] of BROKEN) {
    for (const headLeft of [false, true]) {
      const when = headLeft ? 'after' : 'before';
      test(`under ${policy}, a ${status} whose body breaks ${when} its head has left is ${becomes}, and no part of it is kept`, async (t) => {
        const broken = channel();
        const app = await t.start({
          routes: [
            {
              options: { policy },
              handler: () => ({ status, headers: headLeft ? [EVENTS] : [], stream: broken.stream }),
            },
          ],
        });
        const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
        broken.push('data: 1\n\n');
        if (headLeft) await connection.sees('data: 1\n\n');
        else await app.saw('claimed');
        broken.fail();
        const first = await connection.answer().catch(() => null);
        // Cut short, or told what a retry is told: never an answer that looks whole.
        if (headLeft) assert.deepEqual([first?.status, first?.isComplete], [status, false]);
        else assert.ok(first === null || first.status === 410 || first.status === 409);
        assert.equal((await app.saw('finished')).to, becomes);
        const again = await app.post('key-1');
        if (becomes === 'unknown') assertProblem(again, 409, 'outcome-unknown');
        else {
          assertProblem(again, 410, 'response-not-stored');
          assert.equal(json(again)['originalStatus'], status);
        }
        assert.equal(app.runs, 1);
      });
    }
  }

  test('a reader who leaves a stream holds no claim: the handler runs to its end, and its answer is kept', async (t) => {
    const events = channel();
    const app = await t.start({
      routes: [{ handler: () => ({ status: 200, headers: [EVENTS], stream: events.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    events.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    connection.hangUp();
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    for (let i = 0; i < 100; i += 1) events.push(`data: ${'x'.repeat(10_000)}\n\n`);
    events.end();
    assert.equal((await app.saw('finished')).to, 'completed');
    const again = await app.post('key-1');
    assert.deepEqual([again.status, again.body.length], [200, 1_000_809]);
  });

  // F81
  test('a reader who does not read holds no claim, of a stream that is kept nor of one too large for it', async (t) => {
    for (const [key, count, status] of [
      ['key-kept', 100, 200],
      ['key-large', 800, 410],
    ] as const) {
      const events = channel();
      const app = await t.start({
        routes: [{ handler: () => ({ status: 200, headers: [EVENTS], stream: events.stream }) }],
      });
      const connection = app.open().send(jsonRequest(key, { amount: 1 }));
      events.push('data: 1\n\n');
      await connection.sees('data: 1\n\n');
      connection.pause();
      for (let i = 0; i < count; i += 1) events.push(`data: ${'x'.repeat(10_000)}\n\n`);
      events.end();
      assert.equal((await app.saw('finished')).to, 'completed');
      assert.equal((await app.post(key)).status, status);
      connection.resume();
      const answer = await connection.answer();
      assert.deepEqual([answer.isComplete, answer.body.length], [true, 9 + count * 10_008]);
    }
  });
}
