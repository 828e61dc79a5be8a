/**
 * A real shop for the client's tests: Express and Samekey over a file of SQLite, and switches for what networks and servers do: a
 * reply that never arrives, an answer of a proxy in front of it, a request that is held until the test lets it go.
 */

import type { Server } from 'node:http';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/express';
import { backendOf, openStore } from './backends/index.ts';

/** What happens to one request to `/pay`, in the order in which they arrive. */
export type Fault =
  | 'none'
  /** The connection dies before the request is looked at. */
  | 'cut'
  /** The request is done; its answer is lost. */
  | 'lose-reply'
  /** Something in front of the shop answers. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** One execution of the payment. */
export interface Payment {
  readonly key: string | undefined;
  readonly body: string;
}

/** `Retry-After` is at most what a claim has left, and tests do not want to wait longer. */
const CLAIM_TTL_MS = 2_000;

/** What a browser is shown. */
export interface Page {
  readonly type: string;
  readonly text: string;
}

export interface Shop {
  readonly url: string;
  /** Executions of the handler. */
  readonly payments: Payment[];
  /** Keys of all requests that arrived, faults included. */
  readonly keys: string[];
  /** For the next requests. */
  readonly faults: Fault[];
  /** What the handler answers; default 201. */
  answer: { status: number; body: object };
  /** While set, the handler waits for it. */
  hold: Promise<void> | null;
  /** Resolves when the handler has begun so often. */
  begun(count: number): Promise<void>;
  readonly server: Server;
  close(): Promise<void>;
}

/** Starts it. `pages`: what GET answers, by path, for browsers. */
export async function startShop(pages: Readonly<Record<string, Page>> = {}): Promise<Shop> {
  const place = await (await (await backendOf('sqlite')).start({})).createPlace();
  const opened = await openStore(place.address);
  await opened.store.migrate();
  const samekey = createSamekey({ store: opened.store, claimTtlMs: CLAIM_TTL_MS });
  const app = express();
  const payments: Payment[] = [];
  const keys: string[] = [];
  const faults: Fault[] = [];
  const begins = new EventEmitter();

  for (const [path, { type, text }] of Object.entries(pages))
    app.get(path, (_req, res) => void res.type(type).send(text));
  app.post(
    '/pay',
    (req, res, next) => {
      keys.push(req.get('idempotency-key') ?? '');
      const fault = faults.shift() ?? 'none';
      if (fault === 'cut') {
        req.socket.destroy();
      } else if (typeof fault === 'object') {
        res.status(fault.status).set(fault.headers ?? {});
        res.end(fault.body ?? '');
      } else {
        if (fault === 'lose-reply') loseReply(res);
        next();
      }
    },
    idempotent(samekey, { policy: 'payments', scope: () => 'acme' }),
    express.text({ type: () => true }),
    async (req: Request, res: Response) => {
      payments.push({ key: req.get('idempotency-key'), body: String(req.body) });
      begins.emit('begin');
      await shop.hold;
      const { status, body } = shop.answer;
      res.status(status).json({ ...body, number: payments.length });
    },
  );
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shop: Shop = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    payments,
    keys,
    faults,
    answer: { status: 201, body: { paid: true } },
    hold: null,
    async begun(count) {
      while (payments.length < count) await once(begins, 'begin');
    },
    server,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await samekey.close({ drainMs: 1_000 });
      await opened.close();
      await place.remove();
    },
  };
  return shop;
}

/** The answer is made and recorded; where its first byte would leave, the connection dies. */
function loseReply(res: Response): void {
  const { socket } = res;
  if (socket === null) return;
  socket.write = () => {
    socket.destroy();
    return false;
  };
}
