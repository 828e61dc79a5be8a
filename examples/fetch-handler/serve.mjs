// @ts-check
// Serves the handler on Node, whose own server speaks another interface. `deno serve handler.mjs` needs nothing of this.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import handler, { samekey } from './handler.mjs';

/** @type {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => Promise<void>} */
async function answer(req, res) {
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
  /** @type {[string, string][]} */
  const headers = [];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    headers.push([req.rawHeaders[at] ?? '', req.rawHeaders[at + 1] ?? '']);
  }
  const request = new Request(`http://${req.headers.host}${req.url}`, {
    method: req.method ?? 'GET',
    headers,
    ...(hasBody ? { body: /** @type {any} */ (Readable.toWeb(req)), duplex: 'half' } : {}),
  });
  const response = await handler.fetch(request);
  res.writeHead(response.status, [...response.headers].flat());
  res.end(new Uint8Array(await response.arrayBuffer()));
}

const server = createServer((req, res) => {
  answer(req, res).catch((error) => {
    console.error(error);
    res.writeHead(500).end();
  });
});

server.listen(Number(process.env['PORT'] ?? 3000), () => {
  const address = server.address();
  console.log(`http://localhost:${typeof address === 'object' ? address?.port : address}`);
});

async function stop() {
  server.close();
  await samekey.close({ drainMs: 10_000 });
  server.closeIdleConnections();
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop());
