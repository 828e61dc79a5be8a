/**
 * One request on a connection of its own, and its answer to the byte.
 *
 * Invariants: header lines go out as they are given, repeated ones too · no redirect is followed, no answer decoded ·
 * nothing is sent again.
 * Source: RFC 9110; node:http, because fetch joins repeated lines and hides what came.
 */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** One header line: name and value. */
export type Line = readonly [name: string, value: string];

/** A request to send. */
interface WireRequest {
  readonly url: URL;
  readonly method: string;
  readonly lines: readonly Line[];
  readonly body: Uint8Array;
  /** Hangs up so many milliseconds after the whole request has been written; null: waits for the answer. */
  readonly hangUpAfterMs: number | null;
  readonly timeMaxMs: number;
}

/** An answer. */
export interface Answer {
  readonly status: number;
  readonly lines: readonly Line[];
  readonly body: Buffer;
  /** When the whole request had been written, and when the answer was there, by `performance.now()`. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** What came: an answer, or why there is none. */
export type Reply = Answer | { readonly none: string };

/** Answers larger than this are not looked at. */
const ANSWER_SIZE_MAX = 4 * 1024 * 1024;

/** Sends one request. Never rejects. */
export function exchange(request: WireRequest): Promise<Reply> {
  const { url, method, lines, body, hangUpAfterMs, timeMaxMs } = request;
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    let sentAt = performance.now();
    const headers = ['Host', url.host, 'Connection', 'close', ...lines.flat()];
    if (body.length > 0 || !/^(GET|HEAD)$/.test(method)) headers.push('Content-Length', String(body.length));
    let outgoing: ReturnType<typeof send>;
    try {
      // Lines as they are, in one list: an object of headers would lose repeats and order.
      outgoing = send(url, { method, headers, agent: false });
    } catch (error) {
      resolve({ none: reasonOf(error) });
      return;
    }
    const timer = setTimeout(() => {
      resolve({ none: `there was no answer within ${timeMaxMs} ms` });
      outgoing.destroy();
    }, timeMaxMs);
    const end = (reply: Reply): void => {
      clearTimeout(timer);
      resolve(reply);
    };
    outgoing.on('error', (error) => end({ none: reasonOf(error) }));
    outgoing.on('finish', () => {
      sentAt = performance.now();
      if (hangUpAfterMs === null) return;
      setTimeout(() => {
        end({ none: 'hung up' });
        outgoing.destroy();
      }, hangUpAfterMs);
    });
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > ANSWER_SIZE_MAX) incoming.destroy(new Error('the answer is larger than 4 MiB'));
        else chunks.push(chunk);
      });
      incoming.on('error', (error) => end({ none: reasonOf(error) }));
      incoming.on('end', () => {
        if (!incoming.complete) {
          end({ none: 'the answer was cut short' });
          return;
        }
        end({
          status: incoming.statusCode ?? 0,
          lines: pairsOf(incoming.rawHeaders),
          body: Buffer.concat(chunks),
          sentAt,
          answeredAt: performance.now(),
        });
      });
    });
    outgoing.end(body);
  });
}

/** The values of a header, in order. */
export function valuesOf(lines: readonly Line[], wanted: string): readonly string[] {
  return lines.filter(([name]) => name.toLowerCase() === wanted.toLowerCase()).map(([, value]) => value);
}

function pairsOf(raw: readonly string[]): Line[] {
  const lines: Line[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) lines.push([raw[i] as string, raw[i + 1] as string]);
  return lines;
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  if (code === 'ECONNRESET') return 'the connection was reset';
  return error instanceof Error ? error.message : String(error);
}
