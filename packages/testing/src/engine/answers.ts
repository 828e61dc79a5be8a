/** Answers are replayed to the byte, whatever they are made of. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type HeaderLine, response, type StoredResponse } from 'samekey/internals/core/response';
import { type AddEngineTest, JSON_TYPE } from './bench.ts';
import { executed, met, replayed } from './expect.ts';

const LARGE_BYTES = 2 * 1024 * 1024;
const LOCATION: HeaderLine = ['Location', '/payments/1?next=%2F&lang=de'];

/** F38, F39, F40. */
const ANSWERS: Readonly<Record<string, StoredResponse>> = {
  'nothing, 204': response(204),
  'nothing, 205': response(205),
  'nothing, 304': response(304, [['etag', '"1"']]),
  'nothing, 202': response(202),
  false: response(200, JSON_TYPE, 'false'),
  null: response(200, JSON_TYPE, 'null'),
  'an empty text': response(200, JSON_TYPE, '""'),
  'no UTF-8': response(
    200,
    [['content-type', 'application/octet-stream']],
    Uint8Array.of(0, 255, 254, 128, 1),
  ),
  'NUL bytes': response(200, [['content-type', 'text/plain']], 'a\0b\0'),
  'a compressed body': response(200, [['content-encoding', 'gzip']], new Uint8Array(gzipSync('{"id":1}'))),
  'a redirect': response(303, [LOCATION]),
  'repeated headers': response(200, [
    ['Link', '</2>; rel="next"'],
    ['Link', '</0>; rel="prev"'],
    ['link', '</9>; rel="last"'],
    ['Content-Disposition', 'attachment; filename="a, b.txt"'],
    ['X-Empty', ''],
    ['X-Latin', 'caf\u00e9'],
  ]),
  trailers: { ...response(200, [], 'streamed'), trailers: [['checksum', 'abc']] },
  'text beyond the basic plane': response(200, JSON_TYPE, '{"name":"\u{1F600} \u0000"}'),
};

export function answerTests(test: AddEngineTest): void {
  // F38, F39, F40
  test('every kind of answer is replayed exactly, by a process that has never seen it', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    for (const [key, answer] of Object.entries(ANSWERS)) {
      const state = answer.status < 400 ? 'completed' : 'failed';
      executed(await bench.until(a.ask({ key }, () => answer)), { state, response: answer });
      replayed(await bench.until(b.ask({ key })), answer);
      assert.deepEqual((await bench.record({ key }))?.response?.headers, answer.headers, key);
    }
    assert.equal(bench.runs, 0);
  });

  // F39, F50
  test('an answer of 2 MiB is replayed exactly, or told as not stored; its first client gets it whole', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const answer = response(201, [LOCATION], new Uint8Array(randomBytes(LARGE_BYTES)));
    executed(await bench.until(a.ask({}, () => answer)), {
      state: 'completed',
      stored: true,
      response: answer,
    });
    const { recordSizeMaxBytes } = bench.t.store.capabilities;
    for (const node of [a, b]) {
      const again = await bench.until(node.ask());
      if (recordSizeMaxBytes === null || recordSizeMaxBytes > LARGE_BYTES + 1_000) {
        replayed(again, answer);
      } else {
        const { originalStatus, location } = met(again, 'response-not-stored');
        assert.deepEqual([originalStatus, location], [201, LOCATION[1]]);
      }
    }
    assert.equal(bench.runs, 0);
  });

  test('many large answers that end at one moment are all stored', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const keys = Array.from({ length: 8 }, (_, i) => `large-${i}`);
    const asked = keys.map((key) => a.ask({ key }, () => largeAnswer(key)));
    for (const outcome of await bench.until(Promise.all(asked))) executed(outcome, { stored: true });
    const small = bench.t.store.capabilities.recordSizeMaxBytes ?? Number.POSITIVE_INFINITY;
    for (const key of keys) {
      const again = await bench.until(b.ask({ key }));
      if (small > 300_000) replayed(again, largeAnswer(key));
      else met(again, 'response-not-stored');
    }
  });
}

function largeAnswer(key: string): StoredResponse {
  return response(200, [], key.repeat(30_000));
}
