/** multipart/form-data as parts: the boundary is nothing, every other byte counts (F32). */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseMultipart } from '../../src/fingerprint/multipart.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function parse(body: string, boundary: string | undefined = 'b') {
  return parseMultipart(encoder.encode(body), boundary);
}

const HEAD = 'Content-Disposition: form-data; name="a"';

describe('a multipart body', () => {
  test('is read as its parts', () => {
    const body = [
      '--b',
      'Content-Disposition: form-data; name="amount"',
      '',
      '7',
      '--b \t',
      'content-type:  Text/Plain; charset=utf-8 ',
      'CONTENT-DISPOSITION: form-data; filename="a b.txt"; name=file; size=3',
      'X-More: yes',
      '',
      'line\r\n\r\n--not the boundary\n--b',
      '--b--',
      '',
    ].join('\r\n');
    const parts = parse(body);
    expect(parts?.map((part) => ({ ...part, body: decoder.decode(part.body) }))).toEqual([
      { name: 'amount', filename: null, contentType: null, others: [], body: '7' },
      {
        name: 'file',
        filename: 'a b.txt',
        contentType: 'Text/Plain; charset=utf-8',
        others: ['x-more', 'yes', ';size', '3'],
        body: 'line\r\n\r\n--not the boundary\n--b',
      },
    ]);
  });

  test('may have no parts, empty parts, and bytes of any kind', () => {
    expect(parse('--b--')).toEqual([]);
    expect(parse('--b--\r\n')).toEqual([]);
    expect(parse(`--b\r\n${HEAD}\r\n\r\n\r\n--b--`)?.[0]?.body).toHaveLength(0);
    const bytes = Uint8Array.from([0, 255, 13, 10, 45, 45, 13]);
    const body = new Uint8Array([
      ...encoder.encode(`--b\r\n${HEAD}\r\n\r\n`),
      ...bytes,
      ...encoder.encode('\r\n--b--'),
    ]);
    expect(parseMultipart(body, 'b')?.[0]?.body).toEqual(bytes);
  });

  test('is read back as a platform wrote it, whatever boundary it chose', async () => {
    const form = new FormData();
    form.append('text', 'größe\n2');
    form.append('file', new Blob([Uint8Array.from([0, 13, 10, 255])], { type: 'image/png' }), 'ü.png');
    const read = async () => {
      const response = new Response(form);
      const boundary = /boundary=(.*)$/.exec(response.headers.get('content-type') ?? '')?.[1];
      return { boundary, parts: parseMultipart(new Uint8Array(await response.arrayBuffer()), boundary) };
    };
    const [first, second] = [await read(), await read()];
    expect(first.boundary).not.toBe(second.boundary);
    expect(first.parts).toHaveLength(2);
    expect(first.parts).toEqual(second.parts);
    expect(first.parts?.[1]?.body).toEqual(Uint8Array.from([0, 13, 10, 255]));
  });

  test.each([
    ['without a boundary', `--b\r\n${HEAD}\r\n\r\n7\r\n--b--`, ''],
    ['with another boundary', `--b\r\n${HEAD}\r\n\r\n7\r\n--b--`, 'c'],
    ['with a boundary that is too long', '--b--', 'b'.repeat(71)],
    ['that does not end', `--b\r\n${HEAD}\r\n\r\n7`, 'b'],
    ['that ends in the middle of a head', `--b\r\n${HEAD}`, 'b'],
    ['with text before it', `x\r\n--b\r\n${HEAD}\r\n\r\n7\r\n--b--`, 'b'],
    ['with text after it', `--b\r\n${HEAD}\r\n\r\n7\r\n--b--\r\nx`, 'b'],
    ['with bare line feeds', `--b\n${HEAD}\n\n7\n--b--`, 'b'],
    ['with a boundary that goes on', `--bc\r\n${HEAD}\r\n\r\n7\r\n--b--`, 'b'],
    ['with a part without a head', '--b\r\n\r\n7\r\n--b--', 'b'],
    ['with a part without a body', `--b\r\n${HEAD}\r\n\r\n--b--`, 'b'],
    ['with a part without a name', '--b\r\nContent-Disposition: form-data\r\n\r\n7\r\n--b--', 'b'],
    ['with a name given twice', `--b\r\n${HEAD}; name="c"\r\n\r\n7\r\n--b--`, 'b'],
    ['with a disposition not understood', `--b\r\n${HEAD} x\r\n\r\n7\r\n--b--`, 'b'],
    ['with a folded head line', `--b\r\n${HEAD};\r\n x=1\r\n\r\n7\r\n--b--`, 'b'],
    ['with a head that is too long', `--b\r\n${HEAD}\r\nx: ${'a'.repeat(20_000)}\r\n\r\n7\r\n--b--`, 'b'],
    ['that is empty', '', 'b'],
  ])('%s is malformed', (_, body, boundary) => {
    expect(parse(body, boundary)).toBeNull();
  });

  test('is never read as other parts than were written', () => {
    const bytes = fc.uint8Array({ maxLength: 12 });
    const text = fc.string({ unit: fc.constantFrom('\r\n', '--', 'b', '-', '\r', '\n', 'x'), maxLength: 6 });
    const content = fc.oneof(
      bytes,
      text.map((some) => encoder.encode(some)),
    );
    fc.assert(
      fc.property(fc.array(content, { maxLength: 4 }), (contents) => {
        fc.pre(contents.every((some) => !`\r\n${String.fromCharCode(...some)}`.includes('\r\n--b')));
        const pieces = contents.map((some) => [...encoder.encode(`--b\r\n${HEAD}\r\n\r\n`), ...some, 13, 10]);
        const body = Uint8Array.from([...pieces.flat(), ...encoder.encode('--b--')]);
        expect(parseMultipart(body, 'b')?.map((part) => [...part.body])).toEqual(
          contents.map((some) => [...some]),
        );
      }),
      { numRuns: 3000 },
    );
  });

  test('is read in time linear in its length', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    expect(parse(`--b\r\n${HEAD}\r\n\r\n${'\r\n--'.repeat(250_000)}\r\n--b--`)).toHaveLength(1);
    expect(parse(`--b\r\n${HEAD}\r\n\r\n${'\r'.repeat(1_000_000)}\r\n--b--`)).toHaveLength(1);
    expect(parse(`${`--b\r\n${HEAD}\r\n\r\n7\r\n`.repeat(20_000)}--b--`)).toHaveLength(20_000);
  });
});
