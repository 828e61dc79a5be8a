/** Every way to answer looks the same on the wire with and without a capture, and is recorded as it looked. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Server } from 'node:http';
import type { CaptureEnd } from '../../src/http-node/capture.ts';
import { sendAnswer } from '../../src/http-node/send-held.ts';
import { ask, captured, listen, parse, requestBytes, shown, shownBody, stop } from './wire.ts';
import { WAYS } from './ways-to-answer.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const ADDED_BY_NODE = /^(connection|keep-alive|transfer-encoding|content-length)$/i;

for (const [version, extra, method] of [
  ['1.1', '', 'POST'],
  ['1.1', '', 'HEAD'],
  ['1.0', '', 'POST'],
] as const) {
  describe(`A captured and released answer to ${method} over HTTP/${version} is byte for byte the handler's`, () => {
    // Node itself refuses a Trailer field where there can be no chunks: see capture-node.test.ts.
    const names = Object.keys(WAYS).filter(
      (name) => (method === 'POST' && version === '1.1') || !name.startsWith('trailers'),
    );
    test.each(names)('%s', async (name) => {
      const way = WAYS[name]!;
      const request = requestBytes(extra, method).replace('HTTP/1.1', `HTTP/${version}`);
      const plain = await listen((req, res) => void way(res, req));
      const ends: CaptureEnd[] = [];
      const held = await captured(
        (req, res) => void way(res, req),
        async ({ capture }) => {
          ends.push(await capture.ended);
          capture.release();
        },
      );
      servers.push(plain, held);
      const expected = parse(await ask(plain, request), method);
      expect(shown(parse(await ask(held, request), method))).toEqual(shown(expected));

      const [end] = ends;
      if (end?.kind !== 'answer') throw new Error('no answer');
      expect(`HTTP/1.1 ${end.status} ${end.statusMessage}`).toBe(expected.statusLine);
      const visible = expected.headers.filter(([field]) => !ADDED_BY_NODE.test(field));
      expect(end.headers.filter(([field]) => !ADDED_BY_NODE.test(field))).toEqual(visible);
      if (version === '1.1') expect(end.trailers).toEqual(expected.trailers);
      if (end.body !== null) expect(shownBody(end.body)).toBe(shownBody(expected.body));
      if (method === 'HEAD') return;

      // What was recorded, sent again, is what the first client saw.
      const replay = await listen((_req, res) => sendAnswer(res, end));
      servers.push(replay);
      const again = parse(await ask(replay, request));
      expect(again.headers.filter(([field]) => !ADDED_BY_NODE.test(field))).toEqual(visible);
      if (end.body !== null) expect(shownBody(again.body)).toBe(shownBody(expected.body));
    });
  });
}
