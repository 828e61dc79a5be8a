/** The site as a server of static files gives it: a folder's address without its slash is led to the one with it. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** Serves a folder below a path of its own, because nobody promises that the site is alone on its host. */
export async function serveSite(folder: string, base: string): Promise<{ server: Server; origin: string }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    if (!pathname.startsWith(`${base}/`)) {
      response.writeHead(404).end();
      return;
    }
    let file = join(folder, decodeURIComponent(pathname.slice(base.length)));
    const isFolder = existsSync(file) && statSync(file).isDirectory();
    if (isFolder && !pathname.endsWith('/')) {
      response.writeHead(301, { Location: `${pathname}/` }).end();
      return;
    }
    if (isFolder) file = join(file, 'index.html');
    if (!existsSync(file)) {
      response.statusCode = 404;
      file = join(folder, '404.html');
    }
    const type = TYPES[extname(file)] ?? 'text/plain';
    response.setHeader('Content-Type', `${type}; charset=utf-8`).end(readFileSync(file));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}` };
}
