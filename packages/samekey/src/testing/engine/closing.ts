/** Processes that stop, as in a rolling restart. */

import assert from 'node:assert/strict';
import { type AddEngineTest, CLAIM_TTL_MS, heldHandler } from './bench.ts';
import { eventsOf, executed, met, replayed } from './expect.ts';

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
