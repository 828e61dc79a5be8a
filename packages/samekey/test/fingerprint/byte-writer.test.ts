/** Length-prefixed parts: nothing that is written can be read in two ways. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ByteWriter,
  byteWriter,
  writeBytes,
  writeCount,
  writeText,
  writeTexts,
  written,
} from '../../src/fingerprint/byte-writer.ts';

function bytesOf(write: (writer: ByteWriter) => void, capacity = 0): Buffer {
  const writer = byteWriter(capacity);
  write(writer);
  return Buffer.from(written(writer));
}

function framed(bytes: Uint8Array, mark = 0): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length + mark * 2 ** 24);
  return Buffer.concat([length, bytes]);
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.tuple(fc.constantFrom('a', 'é', '€', '😀'), fc.nat(400)).map(([unit, count]) => unit.repeat(count)),
);

describe('a writer', () => {
  test('writes each text as the length of its UTF-8 and that, however little room there was', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), fc.nat(600), (texts, capacity) => {
        const expected = Buffer.concat(texts.map((some) => framed(Buffer.from(some))));
        const actual = bytesOf((writer) => texts.forEach((some) => writeText(writer, some)), capacity);
        expect(actual.equals(expected)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('writes long texts and bytes, and lengths of every size', () => {
    for (const length of [0, 1, 47, 48, 49, 255, 256, 65_535, 65_536, 70_000, 16_777_216]) {
      const bytes = new Uint8Array(length).fill(0x61);
      const [asText, asBytes] = [
        bytesOf((writer) => writeText(writer, 'a'.repeat(length))),
        bytesOf((writer) => writeBytes(writer, bytes)),
      ];
      expect(asText.equals(framed(bytes))).toBe(true);
      expect(asBytes.equals(asText)).toBe(true);
    }
  });

  test('writes ill-formed text apart from every well-formed text', () => {
    const texts = [
      '\ud800',
      '\udc00',
      '\ufffd',
      '"\\ud800"',
      '\ud800\ud800',
      'a\ud800',
      `${'a'.repeat(100)}\ud800`,
    ];
    const all = texts.map((some) => bytesOf((writer) => writeText(writer, some)).toString('hex'));
    expect(new Set(all).size).toBe(texts.length);
    expect(
      bytesOf((writer) => writeText(writer, '\ud800')).equals(framed(Buffer.from('"\\ud800"'), 0x80)),
    ).toBe(true);
  });

  test('counts lists, so that they cannot run into each other', () => {
    const lists = [[[], ['a']], [['a'], []], [['a', '']], [['', 'a']], [[], []], [[]]];
    const all = lists.map((list) =>
      bytesOf((writer) => list.forEach((texts) => writeTexts(writer, texts))).toString('hex'),
    );
    expect(new Set(all).size).toBe(lists.length);
    expect(bytesOf((writer) => writeCount(writer, 258)).toString('hex')).toBe('00000102');
  });
});
