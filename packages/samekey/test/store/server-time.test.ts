/** What one process makes of a server's clock, the shared time and its own monotonic clock (F117). */

import { describe, expect, it } from 'vitest';
import { createServerTime } from '../../src/store/time/server-time.ts';

const START = Date.UTC(2030, 0);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A server, and the processes that use it. */
function bench(shared = START) {
  const server = { off: 0, shared, moves: 0, reads: 0 };
  let elapsedMs = 0;
  function process() {
    let stoodStillMs = 0;
    let wallOffMs = 0;
    const time = createServerTime(
      {
        async read() {
          server.reads += 1;
          return { clock: START + elapsedMs + server.off, shared: server.shared };
        },
        async move(to) {
          server.moves += 1;
          server.shared = Math.max(server.shared, to);
        },
      },
      () => 77 + elapsedMs - stoodStillMs,
      () => START + elapsedMs + wallOffMs,
    );
    return {
      time,
      /** Its monotonic clock stands still meanwhile, as that of a machine that is frozen. */
      freeze: (ms: number) => {
        elapsedMs += ms;
        stoodStillMs += ms;
      },
      setWall: (ms: number) => {
        wallOffMs += ms;
      },
    };
  }
  return {
    server,
    process,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
  };
}

describe('time of a server', () => {
  it('knows nothing before the first look, and then what the clock says', async () => {
    const { process, server, pass } = bench(0);
    const { time } = process();
    expect(time.bound()).toBeUndefined();
    await time.fresh();
    expect(time.bound()).toBe(START);
    expect(server.shared).toBe(START);
    pass(1_234);
    expect(time.bound()).toBe(START + 1_234);
  });

  it.each([
    ['a minute ahead of the shared time', MINUTE_MS, MINUTE_MS],
    ['further ahead', MINUTE_MS + 1, 0],
    ['behind', -MINUTE_MS, 0],
    ['behind by what two looks at once may differ', -5, -5],
  ])('a process that starts while the clock is %s takes the nearer one', async (_how, offMs, taken) => {
    const { process, server } = bench();
    server.off = offMs;
    const { time } = process();
    await time.look();
    expect(time.bound()).toBe(START + taken);
  });

  it('follows the small steps of a time service, ahead and back', async () => {
    const { process, server, pass } = bench();
    const { time } = process();
    await time.look();
    for (const step of [2_000, -2_000, 1_500]) {
      server.off += step;
      pass(10_000);
      await time.look();
      expect(time.bound()).toBe(START + server.off + 10_000 * server.reads - 10_000);
    }
  });

  // F117
  it('believes a clock that is ahead after ten minutes of keeping pace, and holds claims back for ten more', async () => {
    const { process, server, pass } = bench();
    const { time } = process();
    await time.look();
    server.off = DAY_MS;
    await time.look();
    pass(10 * MINUTE_MS - 1);
    await time.look();
    expect(time.bound()).toBe(START + 10 * MINUTE_MS - 1);
    expect(time.heldMs()).toBe(0);
    pass(1);
    await time.look();
    expect(time.bound()).toBe(START + DAY_MS + 10 * MINUTE_MS);
    expect(server.shared).toBe(START + DAY_MS + 10 * MINUTE_MS);
    expect(time.heldMs()).toBe(DAY_MS);
    pass(10 * MINUTE_MS - 1);
    expect(time.heldMs()).toBe(DAY_MS);
    pass(1);
    expect(time.heldMs()).toBe(0);
  });

  // F117
  it('takes a shared time that is ahead at once, because others have believed the clock', async () => {
    const { process, server } = bench();
    const { time } = process();
    await time.look();
    server.off = DAY_MS;
    server.shared = START + DAY_MS - 5_000;
    await time.look();
    expect(time.bound()).toBe(START + DAY_MS);
    expect(time.heldMs()).toBe(DAY_MS);
  });

  it('never follows a clock that is set back, nor does who starts then', async () => {
    const { process, server, pass } = bench();
    const { time } = process();
    await time.look();
    server.off = -DAY_MS;
    for (let minutes = 1; minutes <= 30; minutes += 1) {
      pass(MINUTE_MS);
      await time.look();
      expect(time.bound()).toBe(START + minutes * MINUTE_MS);
    }
    const newcomer = process();
    await newcomer.time.look();
    expect(newcomer.time.bound()).toBe(START + 30 * MINUTE_MS);
  });

  it('looks before a statement when its machine stood still, and takes what others have left meanwhile', async () => {
    const { process, server, pass } = bench();
    const [frozen, other] = [process(), process()];
    await Promise.all([frozen.time.look(), other.time.look()]);
    expect(frozen.time.fresh()).toBeUndefined();
    frozen.freeze(60 * MINUTE_MS);
    await other.time.look();
    pass(9_000);
    await frozen.time.fresh();
    expect(frozen.time.bound()).toBe(START + 60 * MINUTE_MS + 9_000);
    expect(server.reads).toBe(4);
    frozen.setWall(DAY_MS);
    await frozen.time.fresh();
    expect(server.reads).toBe(5);
    expect(frozen.time.bound()).toBe(START + 60 * MINUTE_MS + 9_000);
  });

  it('looks before a statement when nobody has swept for half a minute, and moves what lags by five seconds', async () => {
    const { process, server, pass } = bench();
    const { time } = process();
    await time.look();
    pass(4_999);
    await time.look();
    expect(server.moves).toBe(0);
    pass(29_999);
    expect(time.fresh()).toBeUndefined();
    expect(server.reads).toBe(2);
    pass(1);
    await time.fresh();
    expect(server.reads).toBe(3);
    expect(server.moves).toBe(1);
  });

  it('says that it could not look to whoever waits for it, and looks again', async () => {
    let isDown = true;
    const time = createServerTime(
      {
        async read() {
          if (isDown) throw new Error('down');
          return { clock: START, shared: START };
        },
        move: async () => undefined,
      },
      () => 0,
      () => 0,
    );
    await expect(time.fresh()).rejects.toThrow('down');
    isDown = false;
    await time.fresh();
    expect(time.bound()).toBe(START);
  });
});
