/** When the store is down, hangs or loses replies; when handlers hang; when the process stops. */

import assert from 'node:assert/strict';
import { assertProblem, assertReplay, assertRetryAfter, header, text } from './expect.ts';
import { type AddTest, held } from './kit.ts';

const MADE = { status: 201, body: 'made' };
const STORE_TIME_MAX_MS = 2_000;

export function faultTests(test: AddTest): void {
  // F44
  test('a store that is down at the claim answers 503, and the handler does not run', async (t) => {
    const app = await t.start();
    t.store.inject('refuse', { verb: 'claim' });
    const refused = await app.post('key-1');
    assertProblem(refused, 503, 'store-unavailable');
    assertRetryAfter(refused);
    assert.equal(app.runs, 0);
    assert.equal((await app.post('key-1')).status, 201);
  });

  // F44
  test('a store that hangs at the claim answers 503 in bounded time, and the handler does not run', async (t) => {
    const app = await t.start();
    t.store.inject('loseRequest', { verb: 'claim', silent: true });
    assertProblem(await t.passUntil(app.post('key-1')), 503, 'store-unavailable');
    const { durationMs } = await app.saw('outcome');
    assert.ok(durationMs <= STORE_TIME_MAX_MS + 500, `it took ${durationMs} ms`);
    assert.equal(app.runs, 0);
    assert.equal((await t.passUntil(app.post('key-1'))).status, 201);
  });

  // F15 as a client sees it: the claim stands, its reply is lost, nothing ran.
  test('a claim whose reply was lost does not block its key', async (t) => {
    const app = await t.start();
    t.store.inject('loseReply', { verb: 'claim', silent: true });
    assertProblem(await t.passUntil(app.post('key-1')), 503, 'store-unavailable');
    assert.equal((await t.passUntil(app.post('key-1'))).status, 201);
    assert.equal(app.runs, 1);
  });

  // F3
  test('an answer whose record cannot be saved leaves marked, is replayed here, and is saved later', async (t) => {
    const routes = [{ handler: () => MADE }];
    const [a, b] = [await t.start({ routes }), await t.start({ routes })];
    t.store.inject('refuse', { verb: 'finish', times: 3 });
    const first = await a.post('key-1');
    assert.deepEqual([first.status, text(first)], [201, 'made']);
    assert.equal(header(first, 'idempotency-stored'), 'false');
    const here = await a.post('key-1');
    assert.deepEqual([here.status, text(here)], [201, 'made']);
    assert.equal(header(here, 'idempotency-replayed'), 'true');
    assertProblem(await b.post('key-1'), 409, 'in-progress');
    await t.passUntil(a.saw('save-recovered'));
    const elsewhere = await b.post('key-1');
    assert.deepEqual([elsewhere.status, text(elsewhere)], [201, 'made']);
    assert.equal(header(elsewhere, 'idempotency-stored'), undefined);
    assert.equal(a.runs + b.runs, 1);
  });

  // F3, F44: at completion.
  test('an answer waits for a store that hangs no longer than saveTimeMaxMs', async (t) => {
    const app = await t.start({ instance: { saveTimeMaxMs: 700 } });
    t.store.inject('loseRequest', { verb: 'finish', silent: true });
    const first = await t.passUntil(app.post('key-1'));
    assert.equal(first.status, 201);
    assert.equal(header(first, 'idempotency-stored'), 'false');
    const { durationMs } = await app.saw('outcome');
    assert.ok(durationMs <= STORE_TIME_MAX_MS + 500, `it took ${durationMs} ms`);
    await t.passUntil(app.saw('save-recovered'));
    assert.equal(header(await app.post('key-1'), 'idempotency-replayed'), 'true');
    assert.equal(app.runs, 1);
  });

  // F3: never runnable again by itself.
  test('a record whose saving was given up becomes unknown and never runs', async (t) => {
    const app = await t.start({ instance: { saveKeepMaxMs: 0 } });
    t.store.inject('refuse', { verb: 'finish', times: 1_000 });
    assert.equal(header(await app.post('key-1'), 'idempotency-stored'), 'false');
    await t.passUntil(app.saw('save-abandoned'));
    assertProblem(await app.post('key-1'), 409, 'in-progress');
    await t.world.advance(60_000);
    const later = await app.post('key-1');
    assertProblem(later, 409, 'outcome-unknown');
    assertRetryAfter(later);
    assert.equal(app.runs, 1);
  });

  test('a handler that hangs is given up as unknown, and its signal tells it to stop', async (t) => {
    const hung = held(MADE);
    let signal: AbortSignal | undefined;
    const app = await t.start({
      routes: [
        {
          options: { policy: 'standard', attemptTimeMaxMs: 60_000 },
          handler(call) {
            signal = call.attempt?.signal;
            return hung.handler(call);
          },
        },
      ],
    });
    const first = app.post('key-1');
    await hung.started;
    const answer = await t.passUntil(first);
    assertProblem(answer, 409, 'outcome-unknown');
    assertRetryAfter(answer);
    assert.ok(answer.isComplete);
    assert.equal(signal?.aborted, true);
    const retry = await app.post('key-1');
    assertProblem(retry, 409, 'outcome-unknown');
    assert.equal(app.runs, 1);
    hung.release();
  });

  // Contract §3.2: the living owner of an unknown outcome finishes it; an answer beats an absence.
  test('the late answer of a handler that was given up is recorded and replayed', async (t) => {
    const hung = held(MADE);
    const options = { policy: 'standard', attemptTimeMaxMs: 60_000 } as const;
    const app = await t.start({ routes: [{ options, handler: hung.handler }] });
    const first = app.post('key-1');
    await hung.started;
    assertProblem(await t.passUntil(first), 409, 'outcome-unknown');
    hung.release();
    assert.equal((await t.passUntil(app.saw('finished'), 1_000)).to, 'completed');
    const late = await app.post('key-1');
    assert.deepEqual([late.status, text(late)], [201, 'made']);
    assert.equal(app.runs, 1);
  });

  test('a closing process takes no new key and lets running ones end', async (t) => {
    const slow = held(MADE);
    const app = await t.start({ routes: [{ handler: slow.handler }] });
    const first = app.post('key-1');
    await slow.started;
    const closed = app.samekey.close({ drainMs: 60_000 });
    const refused = await app.post('key-2');
    assertProblem(refused, 503, 'closing');
    assertRetryAfter(refused);
    slow.release();
    assert.equal((await first).status, 201);
    assert.equal(await closed, 0);
    const next = await t.start();
    assertReplay(await first, await next.post('key-1'));
    assert.equal(app.runs + next.runs, 1);
  });
}
