/** Requests with bodies, and a service that shows what `readBody` and the next reader saw of one. */
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BodyRead, readBody } from '../../src/http-node/body.ts';
import { listen, parse } from './wire.ts';

export const LIMIT = { requestSizeMaxBytes: 1_048_576 };
export const head = (...lines: string[]): string =>
  ['POST / HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');
export const sized = (body: string | Uint8Array, ...lines: string[]): Buffer =>
  Buffer.concat([
    Buffer.from(head(`Content-Length: ${Buffer.byteLength(body)}`, ...lines)),
    Buffer.from(body),
  ]);
export const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
export const JSON_TYPE = 'Content-Type: application/json';

/** What later readers of a request may do, each returning the text it saw. */
export const READERS: Record<string, (req: IncomingMessage) => Promise<string>> = {
  'a data listener': (req) =>
    new Promise((resolve) => {
      let text = '';
      req.on('data', (chunk) => (text += chunk));
      req.on('end', () => resolve(text));
    }),
  'for await': forAwait,
  pipeline: async (req) => {
    let text = '';
    await pipeline(
      req,
      new Writable({
        write(chunk, _encoding, done) {
          text += chunk;
          done();
        },
      }),
    );
    return text;
  },
  'read in small pieces': async (req) => {
    let text = '';
    req.on('readable', () => {
      for (let chunk = req.read(3) ?? req.read(); chunk !== null; chunk = req.read(3) ?? req.read())
        text += chunk;
    });
    await once(req, 'end');
    return text;
  },
};

/** Answers with what the body read as, and what the reader saw afterwards. */
export function service(
  reader: (req: IncomingMessage) => Promise<string> = forAwait,
  limit = LIMIT,
): Promise<Server> {
  return listen((req, res) => {
    void (async () => {
      const first = await readBody(req, limit);
      const seen = first.kind === 'body' ? await reader(req) : '';
      res.end(JSON.stringify({ ...shownRead(first), seen }));
    })();
  });
}

export function shownRead(result: BodyRead): object {
  if (result.kind !== 'body') return result;
  return {
    kind: 'body',
    raw: Buffer.from(result.raw).toString('latin1'),
    decoded: Buffer.from(result.decoded).toString('latin1'),
  };
}

export const answerOf = (bytes: Buffer): Record<string, unknown> => JSON.parse(parse(bytes).body.toString());

async function forAwait(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}
