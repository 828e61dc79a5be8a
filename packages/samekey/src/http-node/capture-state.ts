/**
 * What one capture knows about one `ServerResponse`, shared by the modules that play Node for the application.
 *
 * Invariants: nothing of the answer reaches the socket in phase `held`; `end` reaches the socket only through
 * `release` or `replace`; `settle` is called at most once with effect (it resolves a promise).
 *
 * Source: https://nodejs.org/docs/latest-v20.x/api/http.html#class-httpserverresponse
 */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HeaderLine } from '../core/response.ts';
import type { Timer, World } from '../core/world.ts';
import type { KeptCopy } from '../http/kept-copy.ts';

/** What stands in for a socket, with the listeners that wait. */
export interface SocketView {
  readonly socket: Socket;
  readonly waiting: EventEmitter;
}

/** Options of one capture. */
export interface CaptureOptions {
  /** Bytes of body held in memory; a larger answer streams through and is not kept. 1 MiB = 1_048_576. */
  readonly responseSizeMaxBytes: number;
  /** Milliseconds an answer may take after its head before it streams through. 1000. */
  readonly bufferTimeMaxMs: number;
  /** The timers of the world. */
  readonly setTimer: World['setTimer'];
  /** Makes the copy that is kept of an answer while it streams through. */
  readonly newCopy: () => KeptCopy;
  /**
   * Whether an answer of this status is decided as soon as it is too large to keep, so that the rest may take its time.
   * Not one that may run again: its handler has not ended.
   */
  readonly isDecidedEarly: (status: number) => boolean;
  /** Told of an answer that the application gives after its answer has been let go. Default: nobody watches. */
  readonly onLateAnswer?: ((end: CaptureEnd) => void) | undefined;
  /** Header lines added to a head that leaves before the record is stored. Default: none. */
  readonly streamHeaders?: () => readonly HeaderLine[];
  /** Headers that a framework keeps until it answers: as if they were on the response. Default: none. */
  readonly outer?: Readonly<Record<string, HeaderValue | undefined>> | undefined;
}

/** An answer the application has given. */
export interface CapturedAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly statusMessage: string;
  /** In order, with repeats, as spelt; non-ASCII octets as latin1 characters, as they go over the wire. */
  readonly headers: readonly HeaderLine[];
  /** The exact bytes; null when they were not kept (too large, no room, or broken off). */
  readonly body: Uint8Array | null;
  readonly trailers: readonly HeaderLine[];
  /** Whether the head has already left: such an answer can be released or destroyed, never replaced. */
  readonly streamed: boolean;
}

/** The application gave its answer up: it destroyed the response, or threw after it had begun. */
export interface CaptureFailed {
  readonly kind: 'failed';
  readonly error: unknown;
  /** The status that was given before, and its head, `body` null; null when none was given. */
  readonly answer: CapturedAnswer | null;
}

/** How the application ended its answer. */
export type CaptureEnd = CapturedAnswer | CaptureFailed;

/** A chunk as the application passed it; kept so, because Node's framing and head encoding depend on its type. */
export interface Chunk {
  readonly data: string | Uint8Array;
  readonly encoding: BufferEncoding | undefined;
}

/** Headers given to `writeHead` on a response without any other header: sent as given, never sorted or merged. */
export type RawHead =
  | readonly unknown[]
  | readonly (readonly [string, unknown])[]
  | Readonly<Record<string, unknown>>;

/** A method of a response, its overloads taken together: Node's own sort their arguments out. */
// oxlint-disable-next-line typescript/no-explicit-any -- each overload returns something else
export type NodeMethod = (this: ServerResponse, ...args: any[]) => any;

/** The methods that are overridden while capturing. */
export type Methods = Readonly<
  Record<'writeHead' | 'write' | 'end' | 'flushHeaders' | 'addTrailers' | 'destroy' | 'emit', NodeMethod>
>;

/** The state of one capture. */
export interface CaptureState {
  readonly res: ServerResponse;
  readonly options: CaptureOptions;
  readonly original: Methods;
  /** What stands in their place. */
  readonly overrides: Methods;
  /** Bit i set: method i of the override list was already an own property of `res`. */
  readonly ownBefore: number;
  /** Names and values on `res` before the capture: `replace` keeps them. */
  readonly baseNames: readonly string[];
  readonly baseValues: readonly HeaderValue[];
  readonly baseSendDate: boolean;
  /** What `statusCode` was before: a status that the handler has set is another. */
  readonly baseStatus: number;
  /** `finish` listeners that were there before: outer middleware is never told of a finish that was not. */
  readonly outerFinishListeners: number;
  /** on-finished's shared listener of outer middleware, set aside while capturing. */
  readonly outerOnFinished: unknown;
  settle: (end: CaptureEnd) => void;

  phase: 'held' | 'streaming' | 'discarding' | 'over';
  /** The application has called `end`. */
  ended: boolean;
  /** The client had hung up before the capture: what looked then has seen it. */
  readonly goneBefore: boolean;
  /** The client hung up; kept from the application until the answer has been let go. */
  gone: boolean;

  headFixed: boolean;
  /** Inside our `end`, before the head is fixed: Node would know the Content-Length. */
  ending: boolean;
  headByEnd: boolean;
  status: number;
  statusMessage: string;
  /** The reason given to `writeHead`, if one was: also an empty one is sent as given. */
  reason: string | undefined;
  raw: RawHead | undefined;
  lines: HeaderLine[];
  hasBody: boolean;
  /** The Content-Length the application declared. */
  declared: number | undefined;
  eventStream: boolean;
  hasTrailerField: boolean;
  chunkedField: boolean;
  /** What the head leaves with, which decides its encoding; undefined: nothing yet. */
  leavesWith: 'a flush' | 'text' | 'bytes' | undefined;

  chunks: Chunk[];
  /** Bytes the application has written. */
  size: number;
  /** The last chunk came with `end`. */
  endChunk: boolean;
  trailers: HeaderLine[];
  timer: Timer | undefined;

  /** Streaming: the copy for the record; null in the other phases. */
  copy: KeptCopy | null;
  /** What the application threw after it had begun to answer. */
  thrown: { readonly error: unknown } | null;
  /** Streaming: hold the most recent chunk back until the next one. */
  holdLast: boolean;
  held: Chunk[];
  passed: boolean;
  needDrain: boolean;

  socketHidden: boolean;
  /** Own data property `socket` of Node < 24, while our accessor stands in its place. */
  socket: unknown;
  view: SocketView | undefined;
  /** Where the handler answers once something else was sent in its place. */
  late: ServerResponse | undefined;
  /** Inside a call to Node's own method, which must see the real socket. */
  inside: boolean;
}

/** A header value as Node keeps it. */
export type HeaderValue = string | number | readonly string[];

/** Where the state of a captured response is found. */
export const CAPTURE: unique symbol = Symbol('samekey.capture');

/** A response that may be captured. */
export interface Capturable {
  [CAPTURE]?: CaptureState;
}

/** The state of a response that is being captured. */
export function captureOf(res: ServerResponse): CaptureState | undefined {
  return (res as Capturable)[CAPTURE];
}

/** The bytes of a chunk. */
export function bytesOf(chunk: Chunk): Uint8Array {
  return typeof chunk.data === 'string' ? Buffer.from(chunk.data, chunk.encoding) : chunk.data;
}

/** The number of bytes of a chunk. */
export function sizeOf({ data, encoding }: Chunk): number {
  return typeof data === 'string' ? Buffer.byteLength(data, encoding) : data.byteLength;
}

/** A copy to keep when the callback of a write, which gives its memory back, comes before the chunk has left. */
export function copyChunk(chunk: Chunk): Chunk {
  return typeof chunk.data === 'string' ? chunk : { data: Buffer.from(chunk.data), encoding: undefined };
}
