import { afterEach, expect, it, vi } from 'vitest';
import { systemWorld } from '../../src/system.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

afterEach(() => void vi.useRealTimers());

it('a timer of more than 24.8 days, which timers of the platform end at once, ends when its time is up', () => {
  vi.useFakeTimers();
  const done = vi.fn();
  systemWorld().setTimer(60 * DAY_MS, done);
  vi.advanceTimersByTime(60 * DAY_MS - 1);
  expect(done).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(done).toHaveBeenCalledOnce();
});

it('a long timer can be cancelled in each of its parts', () => {
  vi.useFakeTimers();
  const done = vi.fn();
  systemWorld()
    .setTimer(60 * DAY_MS, done)
    .cancel();
  const second = systemWorld().setTimer(60 * DAY_MS, done);
  vi.advanceTimersByTime(59 * DAY_MS);
  second.cancel();
  vi.advanceTimersByTime(10 * DAY_MS);
  expect(done).not.toHaveBeenCalled();
});
