/** Time for stores without a clock: what one process makes of the store's time, its wall clock and its monotonic one (F71). */

import { describe, expect, it } from 'vitest';
import { createSharedTime } from '../../src/store/time/shared-time.ts';

const START = Date.UTC(2030, 0);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function process(offMs = 0) {
  let elapsedMs = 0;
  let stepMs = offMs;
  const time = createSharedTime(
    () => START + elapsedMs + stepMs,
    () => 77 + elapsedMs,
  );
  return {
    time,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    step: (ms: number) => {
      stepMs += ms;
    },
  };
}

describe('time that processes share', () => {
  it('is the wall clock where no process has left a time yet, and nothing of that is remembered', () => {
    const { time } = process(DAY_MS);
    expect(time.times(0)).toEqual({ now: START + DAY_MS, laterNow: START + DAY_MS });
    expect(time.times(START)).toEqual({ now: START, laterNow: START + DAY_MS });
  });

  it('is carried on by the monotonic clock, whatever the wall clock does meanwhile', () => {
    const { time, pass, step } = process();
    expect(time.times(START).now).toBe(START);
    pass(5_000);
    step(DAY_MS);
    expect(time.times(START)).toEqual({ now: START + 5_000, laterNow: START + 5_000 + DAY_MS });
    step(-2 * DAY_MS);
    pass(5_000);
    expect(time.times(START)).toEqual({ now: START + 10_000, laterNow: START + 10_000 });
  });

  it('follows what others have seen at once, and never goes back', () => {
    const { time, pass } = process();
    expect(time.times(START).now).toBe(START);
    expect(time.times(START + DAY_MS).now).toBe(START + DAY_MS);
    pass(1_000);
    expect(time.times(START + DAY_MS).now).toBe(START + DAY_MS + 1_000);
    expect(time.times(START).now).toBe(START + DAY_MS + 1_000);
  });

  // F71
  it('believes a wall clock that is ahead after it has kept pace for ten minutes, not a millisecond earlier', () => {
    const { time, pass } = process(DAY_MS);
    time.times(START);
    pass(10 * MINUTE_MS - 1);
    expect(time.times(START).now).toBe(START + 10 * MINUTE_MS - 1);
    pass(1);
    expect(time.times(START)).toEqual({
      now: START + DAY_MS + 10 * MINUTE_MS,
      laterNow: START + DAY_MS + 10 * MINUTE_MS,
    });
  });

  it.each([
    ['forward', MINUTE_MS],
    ['back', -MINUTE_MS],
  ])('begins to watch anew when the wall clock steps %s', (_way, stepMs) => {
    const { time, pass, step } = process(DAY_MS);
    time.times(START);
    pass(9 * MINUTE_MS);
    step(stepMs);
    expect(time.times(START).now).toBe(START + 9 * MINUTE_MS);
    pass(10 * MINUTE_MS - 1);
    expect(time.times(START).now).toBe(START + 19 * MINUTE_MS - 1);
    pass(1);
    expect(time.times(START).now).toBe(START + DAY_MS + 19 * MINUTE_MS + stepMs);
  });

  it('begins to watch anew when the wall clock was not ahead in between', () => {
    const { time, pass, step } = process(DAY_MS);
    time.times(START);
    pass(5 * MINUTE_MS);
    step(-DAY_MS);
    time.times(START);
    step(DAY_MS);
    pass(5 * MINUTE_MS);
    expect(time.times(START).now).toBe(START + 10 * MINUTE_MS);
  });

  it('lets the small steps of a time service count as keeping pace', () => {
    const { time, pass, step } = process(DAY_MS);
    time.times(START);
    for (let minute = 0; minute < 10; minute += 1) {
      pass(MINUTE_MS);
      step(100);
      time.times(START);
    }
    expect(time.times(START).now).toBe(START + DAY_MS + 10 * MINUTE_MS + 1_000);
  });

  it('tells that the clock is off once for each time it is, also who listens late', () => {
    const { time, step } = process(DAY_MS);
    const told: number[] = [];
    time.onOff((offMs) => told.push(offMs));
    time.times(START);
    time.times(START);
    const late: number[] = [];
    time.onOff((offMs) => late.push(offMs))();
    step(-DAY_MS);
    time.times(START);
    step(-DAY_MS);
    time.times(START);
    expect(told).toEqual([DAY_MS, -DAY_MS]);
    expect(late).toEqual([DAY_MS]);
  });
});
