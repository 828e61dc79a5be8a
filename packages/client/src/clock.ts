/**
 * How old a row is. The wall clock of a device is often wrong and may be set; the server's dates are what its retention
 * goes by. So both are written down, with the monotonic clock of the page that wrote them (F136).
 *
 * Invariant: an age is told too high rather than too low, and is not told where nothing proves it.
 */

import { type Answer, isReplay } from './answer.ts';
import type { ClientWorld } from './client-world.ts';

/** A moment: by this device, by this page, and by the server where one of its dates was seen. */
export interface Stamp {
  readonly wall: number;
  readonly page: number;
  readonly server: number | null;
}

/** The clocks of one client. */
export interface Clock {
  /** Takes the date of an answer. */
  see(answer: Answer): void;
  now(): Stamp;
  /** A stamp of this page with the server's time, once that is known. */
  dated(stamp: Stamp): Stamp;
  /** Milliseconds since; null: not known. `isOurs`: it was written by this page. */
  since(stamp: Stamp, isOurs: boolean): number | null;
}

/** Nothing is from later than now; what is by more than this was written by a clock that has been set since. */
const CLOCK_ERROR_MS = 60_000;

export function createClock(world: ClientWorld, trustClock: boolean): Clock {
  let seen: Stamp = { wall: 0, page: 0, server: null };
  const now = (): Stamp => ({
    wall: world.wallNow(),
    page: world.monotonicNow(),
    server: seen.server && seen.server + elapsed(seen),
  });
  // The one stands still while a device sleeps, the other can be set.
  const elapsed = ({ wall, page }: Stamp): number =>
    Math.max(world.wallNow() - wall, world.monotonicNow() - page);
  return {
    see(answer) {
      const { headers } = answer;
      const server = Date.parse(headers.get('date') ?? '');
      const here = now();
      // An old answer's date (a cache's, a replay's) is none of now, and none sets it back.
      if (server > 0 && !headers.has('age') && !isReplay(answer))
        seen = { ...here, server: Math.max(server, (seen.server ?? 0) + here.page - seen.page) };
    },
    now,
    dated(stamp) {
      const { server } = now();
      return { ...stamp, server: stamp.server ?? (server && server - elapsed(stamp)) };
    },
    since(stamp, isOurs) {
      if (isOurs) return elapsed(stamp);
      const { wall, server } = now();
      const ageMs = server === null || stamp.server === null ? wall - stamp.wall : server - stamp.server;
      return ageMs >= -CLOCK_ERROR_MS && (stamp.server !== null || trustClock) ? ageMs : null;
    },
  };
}
