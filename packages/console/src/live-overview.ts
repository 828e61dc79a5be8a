/**
 * The overview as server-sent events: one reader for all who look, and none when nobody does. Who may look is asked
 * again each time: a session that is over hears nothing more.
 */

import type { OverviewReader } from './overview.ts';

/** How often it tells, and how long the host may take to say whether somebody may still look. */
interface Times {
  readonly everyMs: number;
  readonly lookMs: number;
}

const TIMES: Times = { everyMs: 5_000, lookMs: 5_000 };

/** Streams to whoever looks. */
export interface Watch {
  open(mayLook: () => Promise<unknown>): ReadableStream<Uint8Array>;
  close(): void;
}

interface Looker {
  readonly mayLook: () => Promise<unknown>;
  readonly stream: ReadableStreamDefaultController<Uint8Array>;
}

/** Makes it. */
export function createWatch(reader: Pick<OverviewReader, 'read'>, { everyMs, lookMs }: Times = TIMES): Watch {
  const lookers = new Set<Looker>();
  /** Of whom the host has not said yet whether they may still look. */
  const asked = new WeakSet<Looker>();
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isTelling = false;

  function leave(looker: Looker): void {
    lookers.delete(looker);
    if (lookers.size > 0 || timer === null) return;
    clearTimeout(timer);
    timer = null;
  }

  function end(looker: Looker): void {
    leave(looker);
    try {
      looker.stream.close();
    } catch {
      // Gone already.
    }
  }

  /** One event; a stream that nobody reads is not filled. */
  function send(looker: Looker, text: string): void {
    if (lookers.has(looker) && (looker.stream.desiredSize ?? 0) > 0)
      looker.stream.enqueue(encoder.encode(text));
  }

  async function tellOne(looker: Looker, event: string): Promise<void> {
    asked.add(looker);
    // Nobody who may look would be kept waiting; whoever is connects again, and is asked again.
    const late = setTimeout(() => end(looker), lookMs);
    await looker.mayLook().then(
      () => send(looker, event),
      () => end(looker),
    );
    clearTimeout(late);
    asked.delete(looker);
  }

  async function tell(): Promise<void> {
    isTelling = true;
    const event = await reader.read().then(
      (overview) => `event: overview\ndata: ${JSON.stringify(overview)}\n\n`,
      () => 'event: fault\ndata: {}\n\n',
    );
    // Each for itself: one whose host does not answer keeps nobody else waiting.
    for (const looker of lookers) {
      if (!asked.has(looker)) void tellOne(looker, event);
    }
    isTelling = false;
    if (lookers.size === 0) return;
    timer = setTimeout(() => void tell(), everyMs);
    timer.unref?.();
  }

  return {
    open(mayLook) {
      let looker: Looker | undefined;
      return new ReadableStream<Uint8Array>(
        {
          start(stream) {
            looker = { mayLook, stream };
            lookers.add(looker);
            if (timer === null && !isTelling) void tell();
          },
          cancel() {
            if (looker !== undefined) leave(looker);
          },
        },
        { highWaterMark: 8 },
      );
    },
    close() {
      for (const looker of lookers) end(looker);
    },
  };
}
