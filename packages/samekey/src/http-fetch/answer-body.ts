/**
 * The body of a handler's `Response`: read into memory within the limits, else streamed through with its end held back
 * until the record is stored, a copy kept for the record meanwhile (F81).
 *
 * Invariants: `bytes` is the whole body or null · once it streams, what completes it leaves only by `finish` · a reader
 * holds no claim: while a copy is kept the source is read to its end whether he reads or not (the copy is in memory
 * anyway); once it is not kept, the answer is decided and the rest goes at his pace · until the record is settled the
 * source is read on also when the client is gone; afterwards a reader who leaves ends the source, as without Samekey ·
 * a source that breaks is never seen as one that ended, and never stored in part (F104).
 */

import type { Timer, World } from '../core/world.ts';
import type { KeptCopy } from '../http/kept-copy.ts';
import { joined } from './request-body.ts';

/** What a body needs to know. */
interface AnswerBodyOptions {
  readonly responseSizeMaxBytes: number;
  readonly bufferTimeMaxMs: number;
  readonly setTimer: World['setTimer'];
  /** Makes the copy that is kept while it streams. */
  readonly newCopy: () => KeptCopy;
  /** Whether the answer is decided as soon as it is not kept, whatever is still to come. */
  readonly isDecidedEarly: () => boolean;
  /** Called once when it begins to stream. */
  readonly startStream: (stream: ReadableStream<Uint8Array>) => void;
}

/** The body of an answer that is held back. */
export interface HeldBody {
  /** Whether it leaves while it is read. */
  readonly streams: boolean;
  /** Whether the source has broken off. */
  readonly isBroken: boolean;
  /** Whether there is none: a server may tell that from an empty one, as that of Hono does by a type. */
  readonly isNone: boolean;
  /** The whole body, once read; null when it was not kept. */
  readonly bytes: Uint8Array | null;
  /** Sends what was held back; what is still to come follows as it comes. */
  finish(): void;
  /** The client sees an incomplete answer, never a wrong one. */
  abort(): void;
  /** Nobody gets it any more; it is read to its end all the same. */
  leave(): void;
}

/** One that was whole from the first. */
export class WholeBody implements HeldBody {
  readonly streams = false;
  readonly isBroken = false;
  readonly isNone: boolean;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array | null) {
    this.isNone = bytes === null;
    this.bytes = bytes ?? new Uint8Array(0);
  }

  finish(): void {}
  abort(): void {}
  leave(): void {}
}

/** A body being read. */
export class AnswerBody implements HeldBody {
  streams = false;
  isBroken = false;
  bytes: Uint8Array | null = null;
  readonly isNone: boolean;
  readonly #source: ReadableStream<Uint8Array> | null;
  readonly #isEventStream: boolean;
  readonly #options: AnswerBodyOptions;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  /** What was read before it streams. */
  #chunks: Uint8Array[] = [];
  #size = 0;
  #copy: KeptCopy | null = null;
  #held: Uint8Array | null = null;
  /** The source has ended. */
  #ended = false;
  /** `finish` was called: nothing waits any more. */
  #released = false;
  /** The client has hung up, or has got all there is. */
  #gone = false;
  #wanted: (() => void) | null = null;
  #decide: () => void = () => undefined;

  constructor(response: Response, options: AnswerBodyOptions) {
    this.#source = response.body;
    this.isNone = response.body === null;
    this.#isEventStream =
      response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    this.#options = options;
  }

  /** Resolves when what is to be recorded is known: at the end, at the break, or when it is too large to be kept. */
  read(): Promise<void> {
    if (this.#source === null) {
      this.bytes = new Uint8Array(0);
      return Promise.resolve();
    }
    const source = this.#source;
    return new Promise((resolve) => {
      this.#decide = resolve;
      void this.#readAll(source).then(resolve);
    });
  }

  finish(): void {
    this.#released = true;
    this.#copy?.drop();
    if (this.#gone) return this.#stop();
    if (this.#held !== null) this.#controller?.enqueue(this.#held);
    this.#held = null;
    if (this.#ended) this.#close();
  }

  abort(): void {
    const controller = this.#controller;
    if (!this.#gone) controller?.error(new Error('The answer was withdrawn.'));
    this.leave();
  }

  leave(): void {
    this.#gone = true;
    this.#held = null;
    this.#wake();
  }

  async #readAll(source: ReadableStream<Uint8Array>): Promise<void> {
    let timer: Timer | null = null;
    const openStream = (): void => {
      if (!this.streams && !this.#gone) this.#open();
    };
    try {
      const reader = source.getReader();
      this.#reader = reader;
      if (this.#isEventStream) openStream();
      else timer = this.#options.setTimer(this.#options.bufferTimeMaxMs, openStream);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        checkBytes(value);
        // An empty last chunk would let the one before it go, and with it a body whose length is declared.
        if (value.length > 0) await this.#take(value, openStream);
      }
    } catch {
      this.isBroken = true;
      this.#chunks = [];
      this.#copy?.drop();
      if (this.streams) this.abort();
      return;
    } finally {
      timer?.cancel();
    }
    this.#ended = true;
    if (this.#copy !== null) {
      this.bytes = this.#copy.bytes();
      this.#copy.drop();
    } else if (this.#size <= this.#options.responseSizeMaxBytes)
      this.bytes = joined(this.#chunks, this.#size);
    if (this.streams && this.#released) this.#close();
  }

  async #take(chunk: Uint8Array, openStream: () => void): Promise<void> {
    if (!this.streams) {
      this.#size += chunk.length;
      if (this.#size <= this.#options.responseSizeMaxBytes) return void this.#chunks.push(chunk);
      openStream();
      // Nobody gets it, and it is too large to be kept: nothing is gathered.
      if (!this.streams) return void (this.#chunks = []);
    }
    this.#send(chunk);
    // Held in memory either way, so nothing waits for the reader.
    if (this.#copy?.isKept === true) return;
    while (!this.#gone && (this.#controller?.desiredSize ?? 1) <= 0) {
      await new Promise<void>((resolve) => {
        this.#wanted = resolve;
      });
    }
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

  #wake(): void {
    this.#wanted?.();
    this.#wanted = null;
  }

  #open(): void {
    this.streams = true;
    this.#copy = this.#options.newCopy();
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#wake(),
      cancel: () => {
        this.#gone = true;
        if (this.#released) this.#stop();
        this.#wake();
      },
    });
    for (const chunk of this.#chunks) this.#send(chunk);
    this.#chunks = [];
    this.#options.startStream(stream);
  }

  /** One chunk stays behind, except in event streams, whose readers need each event at once. */
  #send(chunk: Uint8Array): void {
    if (this.#copy?.add(chunk) !== true && this.#options.isDecidedEarly()) this.#decide();
    if (this.#gone) return;
    if (this.#isEventStream || this.#released) {
      this.#controller?.enqueue(chunk);
      return;
    }
    if (this.#held !== null) this.#controller?.enqueue(this.#held);
    this.#held = chunk;
  }
}

/** Text in a stream would be stored as zeros; every runtime refuses it when it sends the answer. */
function checkBytes(value: unknown): asserts value is Uint8Array {
  if (!ArrayBuffer.isView(value)) throw new TypeError('The answer has a chunk that is not a Uint8Array.');
}
