/** Processes that stop, as in a rolling restart. */

import assert from 'node:assert/strict';
import { type AddEngineTest, CLAIM_TTL_MS, heldHandler } from './bench.ts';
import { eventsOf, executed, met, replayed } from './expect.ts';

/** How long attempts may take. */
const ATTEMPT_MS = 3 * CLAIM_TTL_MS;

export function closingTests(test: AddEngineTest): void {
  // F65
  test('closing takes nothing new, renews what runs until it has ended, and leaves no key unknown', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    const closed = a.samekey.close({ drainMs: 100_000 });
    assert.equal(met(await bench.until(a.ask({ key: 'new' })), 'unavailable').because, 'closing');
    await bench.pass(3 * CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'in-progress');
    held.end();
    const { response: answer } = executed(await bench.until(first), {
      attempt: 1,
      state: 'completed',
      stored: true,
    });
    assert.equal(await bench.until(closed), 0);
    replayed(await bench.until(b.ask()), answer);
    executed(await bench.until(b.ask({ key: 'new' })), { state: 'completed' });
  });

  // F65
  test('a claim that is granted to a process that closes is given back, and another process runs at once', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const late = a.holdAt('claim.before');
    const asked = a.ask();
    await bench.until(late.reached);
    const closed = a.samekey.close({ drainMs: 100_000 });
    late.release();
    assert.equal(met(await bench.until(asked), 'unavailable').because, 'closing');
    assert.equal(await bench.until(closed), 0);
    executed(await bench.until(b.ask()), { state: 'completed' });
    assert.equal(bench.runs, 1);
  });

  // F3, F65
  test('closing waits for answers that could not be stored yet', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['finish'], 'refuse');
    const { response: answer } = executed(await bench.until(a.ask()), { stored: false });
    const closed = a.samekey.close({ drainMs: 100_000 });
    await bench.pass(CLAIM_TTL_MS);
    a.heal();
    assert.equal(await bench.until(closed), 0);
    replayed(await bench.until(b.ask()), answer);
  });

  // F73
  for (const [what, fault, request] of [
    ['arrived', 'loseReply', {}],
    ['never arrived', 'loseRequest', {}],
    ['arrived, of an operation that may be resumed', 'loseReply', { whenClaimEnds: 'resume', input: '1' }],
    ['never arrived, of such a one', 'loseRequest', { whenClaimEnds: 'resume', input: '1' }],
  ] as const) {
    test(`a claim that was given up is given back before closing is over: it ${what}`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      a.fail(['claim'], fault, { silent: true });
      assert.equal(met(await bench.until(a.ask(request)), 'unavailable').because, 'store');
      a.heal();
      await bench.pass(500);
      const startedAt = bench.now;
      assert.equal(await bench.until(a.samekey.close({ drainMs: 5_000 })), 0);
      assert.ok(bench.now - startedAt < 1_000, 'closing does not wait for what can be asked');
      a.world.kill();
      const { response: answer } = executed(await bench.until(b.ask(request)), { state: 'completed' });
      replayed(await bench.until(b.ask(request)), answer);
      assert.equal(bench.runs, 1);
      const input = (await bench.record())?.input ?? null;
      assert.equal(input === null ? undefined : new TextDecoder().decode(input), request.input);
    });
  }

  // F73: what a worker takes.
  test('a claim of a worker that was given up is given back before closing is over', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const noted = { entry: 'accept', input: '1' } as const;
    met(await bench.until(b.ask(noted)), 'pending');
    a.fail(['claim'], 'loseReply', { silent: true });
    met(await bench.until(a.ask({ ...noted, entry: 'take' })), 'unavailable');
    a.heal();
    assert.equal(await bench.until(a.samekey.close({ drainMs: 5_000 })), 0);
    a.world.kill();
    assert.equal((await bench.record())?.fingerprint === null, false);
    executed(await bench.until(b.ask({ ...noted, entry: 'take' })), { state: 'completed' });
    assert.equal(bench.runs, 1);
  });

  // F73
  test('a claim that is given up while its process closes is given back too, when the store is there again', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['claim', 'find', 'finish'], 'loseReply', { silent: true });
    const asked = a.ask();
    const closed = a.samekey.close({ drainMs: 20_000 });
    met(await bench.until(asked), 'unavailable');
    await bench.pass(3_000);
    a.heal();
    assert.equal(await bench.until(closed), 0);
    a.world.kill();
    executed(await bench.until(b.ask()), { state: 'completed' });
    assert.equal(bench.runs, 1);
  });

  // F73: somebody else has ended it as nobody knows meanwhile.
  test('a claim that was given up and ended as unknown is given back when its process closes', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['claim', 'find'], 'loseReply', { silent: true });
    met(await bench.until(a.ask()), 'unavailable');
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    a.heal();
    assert.equal(await bench.until(a.samekey.close({ drainMs: 5_000 })), 0);
    a.world.kill();
    executed(await bench.until(b.ask()), { state: 'completed' });
    assert.equal(bench.runs, 1);
  });

  // F73
  test('a claim that cannot be given back in time is said, and nothing runs under it', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['claim', 'find', 'finish'], 'loseReply', { silent: true });
    met(await bench.until(a.ask()), 'unavailable');
    assert.equal(await bench.until(a.samekey.close({ drainMs: 1_000 })), 1);
    assert.equal(eventsOf(a, 'close-left-running')[0]?.count, 1);
    a.world.kill();
    met(await bench.until(b.ask()), 'in-progress');
    assert.equal(bench.runs, 0);
  });

  // F68: its answer is known to this process alone.
  test('closing waits for a handler whose time is over, and its late answer is stored', async (bench) => {
    const [a, b] = [await bench.node({ attemptTimeMaxMs: ATTEMPT_MS }), await bench.node()];
    const held = heldHandler(bench);
    const asked = a.ask({}, held.handler);
    await bench.until(held.begun);
    met(await bench.until(asked), 'unknown');
    let isClosed = false;
    const closed = a.samekey.close({ drainMs: 100_000 }).finally(() => (isClosed = true));
    await bench.pass(ATTEMPT_MS / 2);
    assert.equal(isClosed, false);
    held.end();
    assert.equal(await bench.until(closed), 0);
    a.world.kill();
    met(await bench.until(b.ask()), 'replay');
    assert.equal(bench.runs, 1);
  });

  test('closing waits for a handler that hangs no longer than its time once more', async (bench) => {
    const a = await bench.node({ attemptTimeMaxMs: ATTEMPT_MS });
    const held = heldHandler(bench);
    const asked = a.ask({}, held.handler);
    await bench.until(held.begun);
    met(await bench.until(asked), 'unknown');
    const startedAt = bench.now;
    assert.equal(await bench.until(a.samekey.close({ drainMs: 100_000 })), 0);
    assert.ok(bench.now - startedAt <= ATTEMPT_MS + 100, String(bench.now - startedAt));
  });

  // F1
  test('what does not end in time is left to the end of its claim, and said', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    void a.ask({}, held.handler);
    await bench.until(held.begun);
    assert.equal(await bench.until(a.samekey.close({ drainMs: 1_000 })), 1);
    assert.equal(eventsOf(a, 'close-left-running')[0]?.count, 1);
    a.world.kill();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
  });
}
