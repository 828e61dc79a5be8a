/** A handler of `Request` and `Response` behind `node:http`, with streams that end when their reader has left. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

/** A request as Express and Connect hand it on: below a mount, and with a body that a parser may have read. */
type Mounted = IncomingMessage & {
  readonly originalUrl?: string;
  readonly body?: unknown;
  readonly protocol?: string;
};

/** Makes the handler. What is not below `path` is passed on. */
export function nodeHandler(
  fetch: (request: Request) => Promise<Response>,
  path: string,
): (request: IncomingMessage, response: ServerResponse, next?: () => void) => void {
  return (request, response, next) => {
    const url = (request as Mounted).originalUrl ?? request.url ?? '/';
    const own = url.split('?')[0] ?? '';
    if (next !== undefined && own !== path && !own.startsWith(`${path}/`)) return next();
    // Whoever has hung up needs no answer; what was done was done, and its row in the audit says so.
    serve(fetch, request as Mounted, response, url).catch(() => void response.destroy());
  };
}

async function serve(
  fetch: (request: Request) => Promise<Response>,
  request: Mounted,
  response: ServerResponse,
  url: string,
): Promise<void> {
  const answer = await fetch(requestOf(request, url));
  // Whoever has left while it was made is told of no close any more: a live stream would go on for nobody, for ever.
  if (response.destroyed || response.closed) {
    await answer.body?.cancel();
    return;
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null || request.method === 'HEAD') {
    await answer.body?.cancel();
    response.end();
    return;
  }
  const reader = answer.body.getReader();
  response.on('close', () => void reader.cancel().catch(() => undefined));
  // A stream that says nothing yet has begun all the same.
  response.flushHeaders();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!response.write(value)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const on = (): void => {
      response.off('drain', on);
      response.off('close', on);
      resolve();
    };
    response.on('drain', on);
    response.on('close', on);
  });
}

function requestOf(request: Mounted, url: string): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':')) continue;
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const isSecure = 'encrypted' in request.socket || request.protocol === 'https';
  const address = `${isSecure ? 'https' : 'http'}://${hostOf(request)}${pathOf(url)}`;
  const { method = 'GET' } = request;
  if (method === 'GET' || method === 'HEAD') return new Request(address, { method, headers });
  return new Request(address, { method, headers, body: bodyOf(request), duplex: 'half' } as RequestInit);
}

/** Whom it was sent to; what is no host is nobody's, so that no page is of the same one. */
function hostOf({ headers }: Mounted): string {
  const { host = headers[':authority'] } = headers;
  return typeof host === 'string' && /^[\w.:[\]-]+$/.test(host) ? host : 'nobody.invalid';
}

/** What stands behind the host: never another host, whatever it begins with. */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url;
  const behind = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? '';
  return behind.startsWith('/') ? behind : `/${behind}`;
}

/** A parser that stood before has read the body, and left what it says. */
function bodyOf(request: Mounted): BodyInit {
  if (request.readableEnded) {
    const { body } = request;
    return typeof body === 'string' ? body : JSON.stringify(body ?? {});
  }
  return Readable.toWeb(request) as unknown as BodyInit;
}
