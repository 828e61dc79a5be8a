/**
 * The body of a handler's `Response`: read into memory within the limits, else streamed through with its end held back until
 * the record is stored.
 *
 * Invariants: `bytes` is the whole body or null · once it streams, what completes it leaves only by `finish` · the source is
 * read to its end also when the client is gone, so a gone reader holds no claim.
 */

import type { Timer, World } from '../../core/world.ts';
import type { Route } from '../../http/route.ts';
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
  #held: Uint8Array | null = null;
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
    const chunks: Uint8Array[] = [];
    let size = 0;
    const openStream = (): void => {
      if (!this.streams) this.#open(chunks.splice(0));
    };
    let timer: Timer | null = null;
    if (this.#isEventStream) openStream();
    else timer = this.#world.setTimer(this.#route.bufferTimeMaxMs, openStream);
    const reader = this.#source.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
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
    if (!this.streams) this.bytes = joined(chunks, size);
  }

  /** Sends what was held back. */
  finish(): void {
    if (this.#gone || this.#controller === null) return;
    if (this.#held !== null) this.#controller.enqueue(this.#held);
    this.#controller.close();
    this.#gone = true;
  }

  /** The client sees an incomplete answer, never a wrong one. */
  abort(): void {
    if (this.#gone || this.#controller === null) return;
    this.#gone = true;
    this.#controller.error(new Error('The answer was withdrawn.'));
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
    if (this.#isEventStream) {
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
