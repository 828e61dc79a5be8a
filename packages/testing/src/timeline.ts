/**
 * Virtual time: a queue of events, and a clock that stands still between them. Shared by all fake worlds of one test.
 *
 * Invariants: time never goes back · events of one instant come in an order drawn from the seed, so that no test leans on
 * the order in which timers were set · an event's microtasks run to their end before the next event (`turn`).
 */

import type { Timer } from 'samekey/internals/core/world';
import type { Random } from './random.ts';

/** What sets timers: a world, a timeline. */
export interface Timers {
  setTimer(delayMs: number, callback: () => void): Timer;
}

/** A queue of events in virtual time. */
export interface Timeline extends Timers {
  /** Milliseconds since the timeline began. */
  readonly now: number;
  /** When the next event is due; null when there is none. */
  readonly nextAt: number | null;
  /** Moves to the next event and runs it; false when there is none. The caller then lets microtasks run (`turn`). */
  step(): boolean;
  /** Moves the clock to `at`, which no event may precede. */
  rest(at: number): void;
}

interface Event extends Timer {
  readonly at: number;
  readonly tie: number;
  callback: (() => void) | null;
}

/** Makes an empty timeline. */
export function createTimeline(random: Pick<Random, 'next'>): Timeline {
  // A binary heap: the parent of i is (i - 1) >> 1.
  const heap: Event[] = [];
  let now = 0;

  function push(event: Event): void {
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const parent = heap[(i - 1) >> 1] as Event;
      if (!before(event, parent)) break;
      heap[i] = parent;
      i = (i - 1) >> 1;
    }
    heap[i] = event;
  }

  function pop(): Event | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const right = heap[child + 1];
      if (right !== undefined && before(right, heap[child] as Event)) child += 1;
      const least = heap[child];
      if (least === undefined || !before(least, last)) break;
      heap[i] = least;
      i = child;
    }
    heap[i] = last;
    return top;
  }

  /** Drops cancelled events from the top. */
  function peek(): Event | undefined {
    while (heap.length > 0 && heap[0]?.callback === null) pop();
    return heap[0];
  }

  return {
    get now() {
      return now;
    },
    get nextAt() {
      return peek()?.at ?? null;
    },
    setTimer(delayMs, callback) {
      const event: Event = {
        at: now + Math.max(0, delayMs),
        tie: random.next(),
        callback,
        cancel() {
          event.callback = null;
        },
      };
      push(event);
      return event;
    },
    step() {
      if (peek() === undefined) return false;
      const event = pop() as Event;
      now = event.at;
      const { callback } = event;
      event.callback = null;
      callback?.();
      return true;
    },
    rest(at) {
      now = Math.max(now, at);
    },
  };
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie);
}

let waiting: (() => void)[] = [];

/**
 * Resolves when every microtask has run. Timelines that call it together share one turn of the event loop, which is what
 * makes running many of them side by side cheap; they stay independent of each other.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) nextTurn(wake);
  });
}

function wake(): void {
  const all = waiting;
  waiting = [];
  for (const one of all) one();
}

/** Taken once, before a test puts timers of its own in their place. Browsers have messages for it, which they do not slow down. */
const nextTurn: (callback: () => void) => void =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ?? byMessage();

function byMessage(): (callback: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  const due: (() => void)[] = [];
  port1.addEventListener('message', () => due.shift()?.());
  port1.start();
  return (callback) => {
    due.push(callback);
    port2.postMessage(null);
  };
}
