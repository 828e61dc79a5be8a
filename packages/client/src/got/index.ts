/** `@samekey/client/got`: settings for a call of got (14 and newer) that goes through an operation. */

import { Readable } from 'node:stream';
import type { ClientOperation } from '../named-operation.ts';
import { asFetch } from '../wrap/as-fetch.ts';

/** The part of got's options that its hook reads. */
export interface GotOptions {
  readonly url?: string | URL | undefined;
  readonly method?: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** What got takes. Its own retries are off: the operation has its own. */
export interface GotSettings {
  readonly hooks: { readonly beforeRequest: ((options: GotOptions) => Promise<never>)[] };
  readonly retry: { readonly limit: 0 };
}

/**
 * `got.post(url, { json, ...gotOnce(operation) })`; bodies are texts, bytes or `json`, not streams of got's own making.
 */
export function gotOnce(operation: ClientOperation): GotSettings {
  const fetch = asFetch(operation);
  async function answer({ url, method, headers, body, signal }: GotOptions): Promise<never> {
    const lines = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      // The length is fetch's business, and the answer comes decoded.
      value === undefined || name === 'content-length' || name === 'accept-encoding'
        ? []
        : [[name, String(value)]],
    );
    const response = await fetch(String(url), {
      headers: lines,
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(signal === undefined ? {} : { signal }),
    });
    const stream = Readable.from([Buffer.from(await response.arrayBuffer())]);
    // The part of an IncomingMessage that got reads.
    return Object.assign(stream, {
      statusCode: response.status,
      statusMessage: response.statusText,
      headers: Object.fromEntries([...response.headers].filter(([name]) => name !== 'content-encoding')),
      rawHeaders: [...response.headers].flat(),
      url: String(url),
      complete: true,
    }) as never;
  }
  return { hooks: { beforeRequest: [answer] }, retry: { limit: 0 } };
}
