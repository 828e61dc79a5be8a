/** A console over a database with records as real requests leave them, on a server that listens. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createConsole, type ConsoleOptions } from '../src/index.ts';

/** A console that is served. */
export interface Served {
  readonly origin: string;
  /** Asks a verb as the page does. */
  ask(verb: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Asked>;
  close(): Promise<void>;
}

/** What it answered. */
export interface Asked {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test looks at is what it says
  readonly body: any;
}

export const SECRET = 'a-secret-of-more-than-thirty-two-characters';

/** Everything that somebody on call may do. */
export const ALL = ['settle', 'reopen', 'forget', 'requeue', 'drop', 'erase', 'reveal'] as const;

/** What a page of this host sends. */
export const SENT = { 'content-type': 'application/json', 'x-samekey-console': '1' };

/** Serves it. */
export async function serveConsole(options: ConsoleOptions): Promise<Served> {
  const made = createConsole(options);
  const server: Server = createServer((request, response) => made.node(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const secret = options.token?.secret;
  return {
    origin,
    async ask(verb, body = {}, headers = {}) {
      const signed = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
      const response = await fetch(`${origin}${options.path ?? ''}/api/${verb}`, {
        method: 'POST',
        headers: { ...SENT, ...signed, ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    },
    async close() {
      await made.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
