/**
 * A reply that keeps its head to itself until it answers, as Fastify's does, heard while a handler answers by it.
 *
 * Invariants: an error that is sent is told to the attempt before it is answered · what is sent after something else
 * was sent in the handler's place is its answer all the same (contract §8.5): Fastify drops that, so it is given to the
 * stand-in here, without hooks, because whoever waited has been answered.
 *
 * Source: fastify 5.12 lib/reply.js, lib/wrap-thenable.js.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isWatchedAfterwards } from './afterwards.ts';
import { noteDeclared } from './declared.ts';
import { lateOf } from './discard.ts';

type Headers = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** What is used of it. */
export interface KeepingReply {
  readonly raw: ServerResponse;
  send(payload?: unknown): unknown;
  getHeaders(): Headers;
  getSerializationFunction(status: string): unknown;
}

/** What is heard. */
interface HeardReply {
  /** The handler has thrown or rejected, which Fastify sends as an error, unless something else was sent. */
  threw(): void;
  /** The handler has ended and given nothing back. */
  endedSilent(): void;
}

/** Listens to it until its handler has ended. */
export function hearReply(req: IncomingMessage, reply: KeepingReply): HeardReply {
  const { raw } = reply;
  const send = reply.send.bind(reply);
  let hasSent = false;
  const isSent = (): boolean => Reflect.get(Object.getPrototypeOf(reply) as object, 'sent', reply) === true;
  const isAnsweredInItsPlace = (): boolean =>
    isSent() && (lateOf(raw) !== undefined || isWatchedAfterwards(raw));

  // Nest throws a stream away that would be sent after an answer.
  Object.defineProperty(reply, 'sent', {
    configurable: true,
    get: () => isSent() && !isAnsweredInItsPlace(),
  });
  reply.send = (payload?: unknown) => {
    hasSent = true;
    if (payload instanceof Error) noteDeclared(payload, req, raw, () => undefined);
    if (!isAnsweredInItsPlace()) return send(payload);
    if (payload instanceof Error) failLate(raw);
    else answerLate(reply, payload);
    return reply;
  };
  return {
    threw() {
      if (isAnsweredInItsPlace()) failLate(raw);
    },
    endedSilent() {
      if (hasSent) return;
      if (isAnsweredInItsPlace()) answerLate(reply, undefined);
      // Fastify answers with an empty body, but not if the client is gone.
      else if (!isSent() && (req.aborted || req.socket.destroyed)) send();
    },
  };
}

/** Whoever fails after a time-out has not answered; who fails after it was given up has ended. */
function failLate(raw: ServerResponse): void {
  if (lateOf(raw) === undefined) return;
  raw.statusCode = 500;
  raw.end();
}

function answerLate(reply: KeepingReply, payload: unknown): void {
  const { raw } = reply;
  const { 'content-type': type, 'content-length': _length, ...headers } = reply.getHeaders();
  // The first of these calls makes the stand-in, if it is not there yet.
  raw.setHeader('content-type', contentTypeOf(payload, type));
  if (payload === undefined || payload === null) raw.removeHeader('content-type');
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) raw.setHeader(name, value);
  const late = lateOf(raw);
  if (late === undefined) return;
  if (isReadable(payload)) payload.pipe(raw);
  else raw.end(bodyOf(reply, payload, late.statusCode));
}

function contentTypeOf(payload: unknown, declared: unknown): string {
  const own = typeof declared === 'string' ? declared : null;
  if (typeof payload === 'string') return own ?? 'text/plain; charset=utf-8';
  if (ArrayBuffer.isView(payload) || isReadable(payload)) return own ?? 'application/octet-stream';
  return own?.includes('json') === true ? own : 'application/json; charset=utf-8';
}

function bodyOf(reply: KeepingReply, payload: unknown, status: number): string | Uint8Array | undefined {
  if (payload === undefined || payload === null) return undefined;
  if (typeof payload === 'string') return payload;
  if (ArrayBuffer.isView(payload))
    return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength);
  const serialize = reply.getSerializationFunction(String(status)) as
    | ((value: unknown) => string)
    | undefined;
  return serialize === undefined ? JSON.stringify(payload) : serialize(payload);
}

function isReadable(value: unknown): value is NodeJS.ReadableStream {
  return typeof (value as NodeJS.ReadableStream | null)?.pipe === 'function';
}
