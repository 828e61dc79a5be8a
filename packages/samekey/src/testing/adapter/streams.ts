/** Answers that cannot wait: event streams, endless ones, slow ones, broken ones (F41). */

import assert from 'node:assert/strict';
import type { HeaderLine } from '../../core/response.ts';
import { assertProblem, header, json, text, withProbe } from './expect.ts';
import { type AddTest, gate, jsonRequest } from './kit.ts';

const EVENTS: HeaderLine = ['Content-Type', 'text/event-stream'];
const bytes = (chunk: string): Uint8Array => new TextEncoder().encode(chunk);

/** A stream that a test feeds. */
function channel(): {
  readonly stream: AsyncIterable<Uint8Array>;
  push(chunk: string): void;
  end(): void;
  fail(): void;
} {
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

export function streamTests(test: AddTest): void {
  test('an event stream passes through unbuffered, and its retry is told that it was not kept', async (t) => {
    const events = channel();
    const app = await t.start({
      routes: [{ handler: () => ({ status: 200, headers: [EVENTS], stream: events.stream }) }],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    events.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    events.push('data: 2\n\n');
    await connection.sees('data: 2\n\n');
    events.end();
    const answer = await connection.answer();
    assert.deepEqual([answer.status, text(answer), answer.isComplete], [200, 'data: 1\n\ndata: 2\n\n', true]);
    const again = await app.post('key-1');
    assertProblem(again, 410, 'response-not-stored');
    assert.equal(json(again)['originalStatus'], 200);
    assert.equal(app.runs, 1);
  });

  test('an endless stream is decided by its head when its time is up, and goes on', async (t) => {
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
    assert.equal(app.runs, 1);
  });

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
    assert.equal(connection.pending.includes('three'), false);
    stored.open();
    const answer = await connection.answer();
    assert.deepEqual([text(answer), answer.isComplete], ['one,two,three', true]);
    assertProblem(await app.post('key-1'), 410, 'response-not-stored');
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

  test('a stream that breaks is seen as incomplete, and its record is settled', async (t) => {
    const broken = channel();
    const app = await t.start({
      routes: [
        {
          options: { policy: 'payments' },
          handler: () => ({ status: 200, headers: [EVENTS], stream: broken.stream }),
        },
      ],
    });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    broken.push('data: 1\n\n');
    await connection.sees('data: 1\n\n');
    broken.fail();
    const answer = await connection.answer();
    assert.equal(answer.isComplete, false);
    assert.equal((await app.saw('finished')).to, 'unknown');
    assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
    assert.equal(app.runs, 1);
  });

  test('a reader who leaves a stream holds no claim: the handler runs to its end', async (t) => {
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
    assertProblem(await app.post('key-1'), 410, 'response-not-stored');
  });
}
