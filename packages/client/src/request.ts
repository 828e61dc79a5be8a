/**
 * Reads what `fetch` is given into a request that can be kept, compared and sent again.
 *
 * Invariants: equal calls have equal digests, also forms, whose boundary is drawn anew each time (F32) · headers do not
 * count, but those that the caller names because they decide (F130): a renewed token is no other request (F26).
 */

import { must, OptionsError } from './client-error.ts';
import type { Settings } from './options.ts';
import { toBase64 } from './base64.ts';
import { inOurTime } from './stopped.ts';
import type { KeptRequest } from './row.ts';

/** A request, read. */
export interface ReadRequest {
  readonly kept: KeptRequest;
  readonly digest: string;
  /** What goes with this call only: headers that are not kept, `mode`, `cache` … */
  readonly headers: Headers;
  readonly init: RequestInit;
}

/** These say what the body is; credentials, traces and whatever else belongs to one call stay out of the store. */
const KEPT_HEADERS = /^(accept|content-|prefer)/;

/**
 * Reads a call. Throws `OptionsError` for what is no operation: a GET, an address that leads nowhere, an answer that
 * nobody could read, a body that is too large to keep; {@link Stopped} where its headers do not come.
 */
export async function readRequest(
  settings: Settings,
  url: string | URL,
  init: RequestInit,
): Promise<ReadRequest> {
  const method = (init.method ?? 'POST').toUpperCase();
  must(!/^(GET|HEAD)$/.test(method), `${method} is no operation: use fetch.`);
  must(init.mode !== 'no-cors', 'no-cors hides answers: use CORS.');
  // Where it leads is no answer of the operation (F83); what else may be said of redirects comes to the same.
  must(init.redirect !== 'follow', 'Redirects are not followed.');
  const { baseUrl, bodySizeMaxBytes: sizeMaxBytes, decidingHeaders } = settings;
  const { body } = init;
  // What fetch would make of an object (F139).
  // oxlint-disable-next-line typescript/no-base-to-string -- that is what is looked for
  must(String(body) !== '[object Object]', 'An object is no body: stringify it.');
  const address = absolute(url, baseUrl);
  const headers = new Headers(init.headers);
  const read = body === undefined || body === null ? null : new Response(body);
  const bytes = new Uint8Array((await read?.arrayBuffer()) ?? new ArrayBuffer(0));
  const { length } = bytes;
  must(length <= sizeMaxBytes, `The body has ${length} bytes and bodySizeMaxBytes is ${sizeMaxBytes}.`);
  const type = headers.get('content-type') ?? read?.headers.get('content-type') ?? null;
  if (type !== null) headers.set('content-type', type);
  if (decidingHeaders.length > 0) {
    // They are of this intent from now on, whatever the page says of the next one.
    const asked = (async () => settings.headers?.())();
    const now = new Headers(await inOurTime(settings, asked, 'no-answer', init.signal));
    for (const name of decidingHeaders) {
      const value = headers.get(name) ?? now.get(name);
      if (value !== null) headers.set(name, value);
    }
  }
  const decisive = decidingHeaders.map((name) => headers.get(name));
  const kept = read === null ? null : toBase64(bytes);
  // A form's boundary is drawn anew each time (F32), and no content may have it.
  const boundary = /^multipart.*boundary="?([^";]+)/i.exec(type ?? '')?.[1];
  const compared = boundary === undefined ? [type, kept] : `${type} ${atob(kept ?? '')}`.split(boundary);
  return {
    kept: {
      method,
      url: address,
      headers: [...headers].filter(([name]) => KEPT_HEADERS.test(name) || decidingHeaders.includes(name)),
      body: kept,
      credentials: init.credentials ?? null,
      isWhole: true,
    },
    digest: await settings.world.sha256(
      new TextEncoder().encode(JSON.stringify([method, address, ...compared, ...decisive])),
    ),
    headers,
    init,
  };
}

function absolute(url: string | URL, baseUrl: string | undefined): string {
  const here = (globalThis as { location?: { href: string } }).location?.href;
  try {
    const read = new URL(url, baseUrl ?? here);
    read.hash = '';
    return read.href;
  } catch {
    throw new OptionsError('No full address: set baseUrl.');
  }
}
