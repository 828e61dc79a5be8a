/** The last look before a call leaves: whoever asks the signal, the clock is looked at (F69). */

import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lookingSignal } from '../../src/ways/last-look.ts';

/** Its time is up although no timer has fired. */
function signalOf(isLate: boolean): AbortSignal {
  const controller = new AbortController();
  return lookingSignal(controller, () => {
    if (isLate) controller.abort(new Error('late'));
  });
}

describe('a signal that looks', () => {
  let server: Server;
  let arrived = 0;
  let url = '';
  beforeAll(async () => {
    server = createServer((_request, response) => {
      arrived += 1;
      response.end('done');
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  beforeEach(() => {
    arrived = 0;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const CLIENTS: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
    fetch: (signal) => fetch(url, { signal }),
    'fetch with a Request': (signal) => fetch(new Request(url, { signal })),
    'fetch with one of several signals': (signal) =>
      fetch(url, { signal: AbortSignal.any([signal, new AbortController().signal]) }),
    'http.request': (signal) =>
      new Promise((resolve, reject) => {
        request(url, { signal }, (response) => response.resume().on('end', () => resolve(null)))
          .on('error', reject)
          .end();
      }),
    'a client that asks by hand': async (signal) => {
      signal.throwIfAborted();
      return fetch(url);
    },
  };

  it.each(Object.entries(CLIENTS))(
    '%s sends nothing when it is late, and sends when it is not',
    async (_name, send) => {
      await expect(send(signalOf(true))).rejects.toThrow();
      expect(arrived).toBe(0);
      await send(signalOf(false));
      expect(arrived).toBe(1);
    },
  );

  it('is an AbortSignal that tells its listeners and its reason', () => {
    const signal = signalOf(true);
    const told: string[] = [];
    signal.addEventListener('abort', () => told.push('abort'));
    expect(signal).toBeInstanceOf(AbortSignal);
    expect([signal.aborted, signal.aborted, told]).toEqual([true, true, ['abort']]);
    expect(() => signal.throwIfAborted()).toThrow('late');
  });
});
