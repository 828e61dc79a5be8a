/**
 * The body of a handler's `Response`: read into memory within the limits, else streamed through with its end held back until
 * the record is stored.
 *
 * Invariants: `bytes` is the whole body or null · once it streams, what completes it leaves only by `finish` · until then the
 * source is read to its end also when the client is gone, so a gone reader holds no claim; afterwards a reader who leaves
 * ends the source, as without Samekey · a source that breaks is never seen as one that ended.
 */

import type { Timer, World } from '../core/world.ts';
import type { Route } from '../http/route.ts';
import { joined } from './request-body.ts';

/** A body being read. */
export class AnswerBody {
  /** Whether it leaves while it is read. */
  streams = false;
  /** The whole body, once read; null when it streamed. */
  bytes: Uint8Array | null = null;
  readonly #source: ReadableStream<Uint8Array> | null;
  readonly #isEventStream: boolean;
  readonly #route: Pick<Route<unknown>, 'responseSizeMaxBytes' | 'bufferTimeMaxMs'>;
  readonly #world: World;
  readonly #startStream: (stream: ReadableStream<Uint8Array>) => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #held: Uint8Array | null = null;
  /** The source has ended. */
  #ended = false;
  /** `finish` was called: nothing waits any more. */
  #released = false;
  /** The client has hung up, or has got all there is. */
  #gone = false;
  #wanted: (() => void) | null = null;

  constructor(
    response: Response,
    route: Pick<Route<unknown>, 'responseSizeMaxBytes' | 'bufferTimeMaxMs'>,
    world: World,
    startStream: (stream: ReadableStream<Uint8Array>) => void,
  ) {
    this.#source = response.body;
    this.#isEventStream =
      response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    this.#route = route;
    this.#world = world;
    this.#startStream = startStream;
  }

  /** Reads to the end. Rejects when the source fails. */
  async read(): Promise<void> {
    if (this.#source === null) {
      this.bytes = new Uint8Array(0);
      return;
    }
    const reader = this.#source.getReader();
    this.#reader = reader;
    const chunks: Uint8Array[] = [];
    let size = 0;
    const openStream = (): void => {
      if (!this.streams) this.#open(chunks.splice(0));
    };
    let timer: Timer | null = null;
    if (this.#isEventStream) openStream();
    else timer = this.#world.setTimer(this.#route.bufferTimeMaxMs, openStream);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        checkBytes(value);
        // An empty last chunk would let the one before it go, and with it a body whose length is declared.
        if (value.length === 0) continue;
        size += value.length;
        if (!this.streams && size > this.#route.responseSizeMaxBytes) openStream();
        if (this.streams) await this.#send(value);
        else chunks.push(value);
      }
    } catch (error) {
      this.abort();
      throw error;
    } finally {
      timer?.cancel();
    }
    this.#ended = true;
    if (!this.streams) this.bytes = joined(chunks, size);
    else if (this.#released) this.#close();
  }

  /** Sends what was held back; what is still to come follows as it comes. */
  finish(): void {
    this.#released = true;
    if (this.#gone) return this.#stop();
    if (this.#held !== null) this.#controller?.enqueue(this.#held);
    this.#held = null;
    if (this.#ended) this.#close();
  }

  /** The client sees an incomplete answer, never a wrong one. */
  abort(): void {
    if (this.#gone || this.#controller === null) return;
    this.#gone = true;
    this.#controller.error(new Error('The answer was withdrawn.'));
  }

  #close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#controller?.close();
  }

  /** Nobody reads and the record is settled: an endless source must not run for ever. */
  #stop(): void {
    this.#reader?.cancel().catch(() => undefined);
  }

  #open(chunks: readonly Uint8Array[]): void {
    this.streams = true;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        this.#wanted?.();
        this.#wanted = null;
      },
      cancel: () => {
        this.#gone = true;
        if (this.#released) this.#stop();
        this.#wanted?.();
        this.#wanted = null;
      },
    });
    for (const chunk of chunks) this.#enqueue(chunk);
    this.#startStream(stream);
  }

  /** One chunk stays behind, except in event streams, whose readers need each event at once. */
  #enqueue(chunk: Uint8Array): void {
    if (this.#gone) return;
    if (this.#isEventStream || this.#released) {
      this.#controller?.enqueue(chunk);
      return;
    }
    if (this.#held !== null) this.#controller?.enqueue(this.#held);
    this.#held = chunk;
  }

  async #send(chunk: Uint8Array): Promise<void> {
    this.#enqueue(chunk);
    while (!this.#gone && (this.#controller?.desiredSize ?? 1) <= 0) {
      await new Promise<void>((resolve) => {
        this.#wanted = resolve;
      });
    }
  }
}

/** Text in a stream would be stored as zeros; every runtime refuses it when it sends the answer. */
function checkBytes(value: unknown): asserts value is Uint8Array {
  if (!ArrayBuffer.isView(value)) throw new TypeError('The answer has a chunk that is not a Uint8Array.');
}
