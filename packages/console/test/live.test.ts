/** Live streams: none for whoever has left, and nobody waits for another one's session. */

import { EventEmitter, once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { memoryStore } from 'samekey/stores/memory';
import { describe, expect, it } from 'vitest';
import type { Overview } from '../src/api.ts';
import { createConsole } from '../src/index.ts';
import { createWatch } from '../src/live-overview.ts';
import { nodeHandler } from '../src/node-handler.ts';

const reader = { read: async () => ({ now: 0 }) as Overview };

describe('a live stream', () => {
  it('ends for whoever has left before it began', async () => {
    const events = new EventEmitter();
    const [asked, left, ended] = ['asked', 'left', 'ended'].map((each) => once(events, each));
    const answer = async (): Promise<Response> => {
      events.emit('asked');
      await left;
      return new Response(new ReadableStream({ cancel: () => void events.emit('ended') }));
    };
    const handle = nodeHandler(answer, '');
    const server = createServer((request, response) => {
      response.on('close', () => events.emit('left'));
      handle(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const request = send({ port, path: '/api/events' });
    request.on('error', () => undefined).end();
    await asked;
    request.destroy();
    await ended;
    server.close();
  });

  it('is not there for HEAD, which reads nothing of it', async () => {
    const made = createConsole({ store: memoryStore(), authorize: () => ({ actor: 'a' }) });
    const answer = await made.fetch(new Request('http://h/api/events', { method: 'HEAD' }));
    expect(answer.status).toBe(405);
    await made.close();
  });

  it('goes on for others when the host does not say of one whether they may look, and ends for that one', async () => {
    const watch = createWatch(reader, { everyMs: 1, lookMs: 50 });
    const never = new Promise<never>(() => undefined);
    const hung = watch.open(() => never).getReader();
    const healthy = watch.open(async () => undefined).getReader();
    const hears = async (): Promise<string> => new TextDecoder().decode((await healthy.read()).value);
    for (let i = 0; i < 3; i += 1) expect(await hears()).toContain('event: overview');
    expect(await hung.read()).toEqual({ done: true, value: undefined });
    expect(await hears()).toContain('event: overview');
    watch.close();
  });
});
