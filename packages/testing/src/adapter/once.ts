/** Once, and the same answer: retries, double clicks, races, clients that hang up. */

import assert from 'node:assert/strict';
import { assertProblem, assertReplay, assertRetryAfter, text, withProbe } from './expect.ts';
import { type AddTest, gate, held, jsonRequest } from './kit.ts';

const MADE = { status: 201, body: 'made' };

export function onceTests(test: AddTest): void {
  test('a retry gets the first answer, and the handler does not run', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1');
    assert.equal(first.status, 201);
    assertReplay(first, await app.post('key-1'));
    assertReplay(first, await app.post('key-1'));
    assert.equal(app.runs, 1);
  });

  // F24: the same intent twice on purpose.
  test('two keys with equal bodies are two operations', async (t) => {
    const app = await t.start();
    assert.notEqual(text(await app.post('key-1')), text(await app.post('key-2')));
    assert.equal(app.runs, 2);
  });

  // F7: refused by a business rule; the stock is back at the retry.
  test('a refusal by the handler is replayed although the reason for it has gone', async (t) => {
    let stock = 0;
    const app = await t.start({
      routes: [{ handler: () => (stock > 0 ? MADE : { status: 409, body: 'out of stock' }) }],
    });
    const first = await app.post('key-1');
    stock = 1;
    assertReplay(first, await app.post('key-1'));
  });

  // F9, F11: a double click, and many at once in two processes.
  test('of many requests at once one runs, and the others are told that it is in progress', async (t) => {
    const slow = held(MADE);
    const a = await t.start({ routes: [{ handler: slow.handler }] });
    const b = await t.start({ routes: [{ handler: slow.handler }] });
    const first = a.post('key-1');
    await slow.started;
    const others = await Promise.all(
      [a, b].flatMap((app) => Array.from({ length: 10 }, () => app.post('key-1'))),
    );
    for (const other of others) {
      assertProblem(other, 409, 'in-progress');
      assertRetryAfter(other, 30);
    }
    slow.release();
    assert.equal((await first).status, 201);
    assertReplay(await first, await b.post('key-1'));
    assert.equal(a.runs + b.runs, 1);
  });

  // F11 by option.
  test('with a wait, all of many requests at once get the one answer', async (t) => {
    const slow = held(MADE);
    const options = { policy: 'standard', waitMaxMs: 60_000 } as const;
    const a = await t.start({ routes: [{ handler: slow.handler, options }] });
    const b = await t.start({ routes: [{ handler: slow.handler, options }] });
    const first = a.post('key-1');
    await slow.started;
    const others = Promise.all([a, b].flatMap((app) => Array.from({ length: 10 }, () => app.post('key-1'))));
    await t.world.advance(500);
    slow.release();
    for (const other of await t.passUntil(others)) assertReplay(await first, other);
    assert.equal(a.runs + b.runs, 1);
  });

  // F8
  test('a duplicate that gives up waiting changes nothing for the one that runs', async (t) => {
    const slow = held(MADE);
    const options = { policy: 'standard', waitMaxMs: 1_000 } as const;
    const a = await t.start({ routes: [{ handler: slow.handler, options }] });
    const b = await t.start({ routes: [{ handler: slow.handler, options }] });
    const first = a.post('key-1');
    await slow.started;
    const [before] = await t.store.list({});
    for (const app of [a, b]) assertProblem(await t.passUntil(app.post('key-1')), 409, 'in-progress');
    assert.deepEqual((await t.store.list({}))[0]?.claimId, before?.claimId);
    slow.release();
    assert.equal((await first).status, 201);
    assertReplay(await first, await b.post('key-1'));
    assert.equal(a.runs + b.runs, 1);
  });

  // F12
  test('another body under a key in flight is a mismatch, not a conflict', async (t) => {
    const slow = held(MADE);
    const a = await t.start({ routes: [{ handler: slow.handler }] });
    const b = await t.start({ routes: [{ handler: slow.handler }] });
    const first = a.post('key-1');
    await slow.started;
    for (const app of [a, b]) {
      assertProblem(await app.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
    }
    slow.release();
    assertReplay(await first, await a.post('key-1'));
    assert.equal(a.runs + b.runs, 1);
  });

  // F13
  test('a duplicate that looked before the first finished and acts after it gets the replay', async (t) => {
    const looked = gate();
    const act = gate();
    const late = withProbe(t.world, async (point) => {
      if (point !== 'claim.before') return;
      looked.open();
      await act.opened;
    });
    const a = await t.start();
    const b = await t.start({ instance: { world: late } });
    const second = b.post('key-1');
    await looked.opened;
    const first = await a.post('key-1');
    act.open();
    assertReplay(first, await second);
    assert.equal(a.runs + b.runs, 1);
  });

  // F17
  test('a client that hangs up cancels nothing: its retry replays the first run', async (t) => {
    const slow = held(MADE);
    const app = await t.start({ routes: [{ handler: slow.handler }] });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    await slow.started;
    connection.hangUp();
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    slow.release();
    const finished = await app.saw('finished');
    assert.equal(finished.to, 'completed');
    const replay = await app.post('key-1');
    assert.deepEqual([replay.status, text(replay)], [201, 'made']);
    assert.equal(app.runs, 1);
  });

  // F18
  test('an answer that never reached the client is the one its retry gets', async (t) => {
    const before = gate();
    const gone = gate();
    const world = withProbe(t.world, async (point) => {
      if (point !== 'answer.before') return;
      before.open();
      await gone.opened;
    });
    const app = await t.start({ routes: [{ handler: () => MADE }], instance: { world } });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    await before.opened;
    connection.hangUp();
    gone.open();
    const replay = await app.post('key-1');
    assert.deepEqual([replay.status, text(replay)], [201, 'made']);
    assert.equal(app.runs, 1);
  });

  test('a client that hangs up before the handler starts leaves a key that works', async (t) => {
    const before = gate();
    const gone = gate();
    const world = withProbe(t.world, async (point) => {
      if (point !== 'handler.before') return;
      before.open();
      await gone.opened;
    });
    const app = await t.start({ routes: [{ handler: () => MADE }], instance: { world } });
    const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
    await before.opened;
    connection.hangUp();
    // Its request travels after the hang-up, so the server has seen that.
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    gone.open();
    await app.saw('finished');
    const retry = await app.post('key-1');
    assert.deepEqual([retry.status, text(retry)], [201, 'made']);
    assert.equal(app.runs, 1);
  });
}
