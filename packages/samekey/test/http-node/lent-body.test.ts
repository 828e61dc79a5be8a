/** What a door does with a body that it has read: it lends it to who reads on, and lets go of it where nobody does. */

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import { idempotent, type NodeListener, type RouteOptions } from '../../src/adapters/node/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertReplay } from '../../../testing/src/adapter/expect.ts';
import { listen, nodeHarness } from '../adapters/node-harness.ts';

const OPTIONS: RouteOptions<IncomingMessage> = { policy: 'payments', scope: () => 'acme' };

function on(build: (samekey: Samekey) => NodeListener, body: (app: App) => Promise<void>): Promise<void> {
  return onBench({ ...nodeHarness, serve: async (samekey) => listen(build(samekey)) }, async (t) =>
    body(await t.start()),
  );
}

describe('a body that a door has read', () => {
  // F17: body-parser asks the socket of its request before it reads.
  it('is there for a parser behind the door although the client has hung up', async () => {
    const seen: unknown[] = [];
    await on(
      (samekey) =>
        idempotent(samekey, OPTIONS, async (req, res) => {
          if (seen.length === 0) {
            const closed = once(req.socket, 'close');
            req.socket.destroy();
            await closed;
          }
          seen.push(req.socket.readable, await json(req));
          res.writeHead(201).end('made');
        }),
      async (app) => {
        await app.post('key-1', { body: '{"a":1}' }).catch(() => undefined);
        await app.saw('finished');
        expect(seen).toEqual([true, { a: 1 }]);
      },
    );
  });

  it('is let go of where the answer is a replay: nothing of ours is left on the request', async () => {
    const own: boolean[] = [];
    await on(
      (samekey) => {
        const pay = idempotent(samekey, OPTIONS, (_req, res) => void res.writeHead(201).end('made'));
        return async (req, res) => {
          await pay(req, res);
          own.push(['destroy', 'socket'].some((name) => accessorOrOverride(req, name)));
        };
      },
      async (app) => {
        const first = await app.post('key-1', { body: '{"a":1}' });
        assertReplay(first, await app.post('key-1', { body: '{"a":1}' }));
        // Of the first its handler might still read.
        await vi.waitFor(() => expect(own).toEqual([true, false]));
      },
    );
  });
});

function accessorOrOverride(req: IncomingMessage, name: string): boolean {
  const property = Object.getOwnPropertyDescriptor(req, name);
  return property?.get !== undefined || typeof property?.value === 'function';
}
