/** The Idempotency-Key header, by hand and by the public records of the HTTP working group. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type KeyHeader, parseKeyHeader } from '../../src/http/key-header.ts';
import { tellLacking } from '../services/lacking.ts';

const STRICT = { mode: 'strict' } as const;

function faultOf(header: KeyHeader): string {
  return header.kind === 'malformed' ? header.fault : header.kind;
}

const printable = fc
  .string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
  })
  .filter((text) => text.trim() !== '');

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

describe('the key header', () => {
  // F33
  test.each([
    ['no line', [], 'missing'],
    ['an empty line', [''], 'empty'],
    ['white space only', [' \t '], 'empty'],
    ['an empty string', ['""'], 'empty'],
    ['a blank string', ['"   "'], 'blank'],
    ['two lines', ['a', 'b'], 'several'],
    ['two equal lines', ['a', 'a'], 'several'],
    ['two quoted lines', ['"a"', '"b"'], 'several'],
    ['two halves of a string', ['"a', 'b"'], 'several'],
    ['lines joined by the runtime', ['a, b'], 'several'],
    ['quoted lines joined by the runtime', ['"a", "b"'], 'several'],
    ['equal lines joined without a space', ['"a","a"'], 'several'],
    ['empty lines joined by the runtime', [', '], 'several'],
    ['a list with parameters', ['"a";p=1, "b"'], 'several'],
    ['a control character', ['a\u0001b'], 'control-character'],
    ['a control character in quotes', ['"a\tb"'], 'control-character'],
    ['a line break', ['a\r\nb'], 'control-character'],
    ['non-ASCII', ['clé'], 'not-ascii'],
    ['non-ASCII in quotes', ['"clé"'], 'not-ascii'],
    ['a bare key that is too long', ['a'.repeat(256)], 'too-long'],
    ['a quoted key that is too long', [`"${'a'.repeat(256)}"`], 'too-long'],
    ['a huge value', ['"'.repeat(10_000_000)], 'too-long'],
    ['white space inside a bare key', ['a b'], 'grammar'],
    ['a semicolon in a bare key', ['a;b'], 'grammar'],
    ['a quote in a bare key', ['a"b'], 'grammar'],
    ['an unclosed string', ['"a'], 'grammar'],
    ['text after a string', ['"a"b'], 'grammar'],
    ['an unknown escape', [String.raw`"\a"`], 'grammar'],
    ['malformed parameters', ['"a";B'], 'grammar'],
    ['an inner list', ['("a" "b")'], 'grammar'],
  ])('with %s is refused by its own fault', (_, lines, fault) => {
    expect(faultOf(parseKeyHeader(lines))).toBe(fault);
  });

  test('never has any of its text in the detail', () => {
    for (const line of [
      'secret, secret',
      'secret secret',
      '"secret',
      'sécret',
      'secret\u0001',
      'secret'.repeat(99),
    ]) {
      const header = parseKeyHeader([line]);
      expect(header.kind).toBe('malformed');
      expect(JSON.stringify(header)).not.toMatch(/s[eé]cret/);
    }
  });

  // F34
  test('has one key for the quoted and the bare form of one text', () => {
    expect(parseKeyHeader(['abc'])).toEqual({ kind: 'key', key: 'abc' });
    expect(parseKeyHeader(['"abc"'])).toEqual({ kind: 'key', key: 'abc' });
    expect(parseKeyHeader([String.raw`a\b`])).toEqual(parseKeyHeader([String.raw`"a\\b"`]));
  });

  test('is decoded by its escapes, and its parameters and surrounding white space have no part in the key', () => {
    expect(parseKeyHeader([String.raw`"a\"b\\c"`])).toEqual({ kind: 'key', key: String.raw`a"b\c` });
    expect(parseKeyHeader([' \t "a b";x;y=1;z="q, r" \t'])).toEqual({ kind: 'key', key: 'a b' });
    expect(parseKeyHeader(['" a "'])).toEqual({ kind: 'key', key: ' a ' });
    expect(parseKeyHeader(['"a, b"'])).toEqual({ kind: 'key', key: 'a, b' });
  });

  test('takes a key of the full length even if all of it is escaped', () => {
    const key = '"'.repeat(255);
    expect(parseKeyHeader([quote(key)])).toEqual({ kind: 'key', key });
    const longest = '"'.repeat(1024);
    expect(parseKeyHeader([`${quote(longest)};a=1`], { lengthMax: 1024 })).toEqual({
      kind: 'key',
      key: longest,
    });
  });

  // F35
  test('keeps upper and lower case apart', () => {
    expect(parseKeyHeader(['A'])).not.toEqual(parseKeyHeader(['a']));
  });

  const OTHER_TYPES = ['abc', '*', '1', '-1.5', '?1', ':YWJj:', '@1659578233', '%"abc"', '("a")', 'a=b'];

  test.each(OTHER_TYPES)('of another type than String is refused in strict mode (%s)', (line) => {
    expect(faultOf(parseKeyHeader([line], STRICT))).toBe('grammar');
  });

  test.each(OTHER_TYPES.filter((line) => !line.includes('"')))(
    'that looks like another type is just its text in lenient mode (%s)',
    (line) => {
      expect(parseKeyHeader([line])).toEqual({ kind: 'key', key: line });
    },
  );

  test('gives every printable text back, quoted in both modes and joined in none', () => {
    fc.assert(
      fc.property(printable, printable, (a, b) => {
        for (const mode of ['lenient', 'strict'] as const) {
          expect(parseKeyHeader([quote(a)], { mode })).toEqual({ kind: 'key', key: a });
          expect(faultOf(parseKeyHeader([`${quote(a)}, ${quote(b)}`], { mode }))).toBe('several');
        }
        // A Fetch Headers object joins what was appended.
        const joined = new Headers([['k', quote(a)]]);
        joined.append('k', quote(b));
        expect(faultOf(parseKeyHeader([joined.get('k') ?? '']))).toBe('several');
      }),
    );
  });

  test('never takes a key that its own quoted form would not give', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (line) => {
        const header = parseKeyHeader([line]);
        if (header.kind === 'key') expect(parseKeyHeader([quote(header.key)], STRICT)).toEqual(header);
      }),
      { numRuns: 2000 },
    );
  });

  test('applies the options of the key', () => {
    expect(faultOf(parseKeyHeader(['abc'], { uuidOnly: true }))).toBe('not-uuid');
    expect(faultOf(parseKeyHeader(['abc'], { lengthMin: 4 }))).toBe('too-short');
    expect(faultOf(parseKeyHeader(['a@example.org'], { refusePersonalData: true }))).toBe('personal-data');
  });
});

interface Sample {
  readonly name: string;
  readonly raw: readonly string[];
  readonly header_type: string;
  readonly expected?: readonly [unknown, readonly unknown[]];
  readonly must_fail?: boolean;
  readonly can_fail?: boolean;
}

const shared =
  process.env['SAMEKEY_TEST_SHARED'] ?? fileURLToPath(new URL('../../../../../shared', import.meta.url));
const folder = `${shared}/data/structured-fields`;
const hasRecords = existsSync(folder);
// No package brings them, so nobody is failed for want of them.
if (!hasRecords)
  tellLacking(`SKIPPED: the public structured-field records, missing at ${folder}. Set SAMEKEY_TEST_SHARED`);

describe.skipIf(!hasRecords)('the public structured-field records', () => {
  const files = ['string.json', 'string-generated.json', 'item.json', 'token.json'];
  const samples = hasRecords
    ? files.flatMap((file) => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as Sample[])
    : [];
  // Long enough for the "long string" of the records: length is our rule, not theirs.
  const options = { mode: 'strict', lengthMax: 1000 } as const;

  test('are there', () => {
    expect(samples.length).toBeGreaterThan(250);
  });

  test('of a plain string item are read by strict mode as they say', () => {
    let count = 0;
    for (const sample of samples) {
      const text = sample.expected?.[0];
      if (sample.header_type !== 'item' || typeof text !== 'string' || sample.can_fail === true) continue;
      count++;
      const header = parseKeyHeader(sample.raw, options);
      // Empty and blank strings are strings, which we understand and do not take as keys.
      if (text === '') expect(faultOf(header), sample.name).toBe('empty');
      else if (text.trim() === '') expect(faultOf(header), sample.name).toBe('blank');
      else expect(header, sample.name).toEqual({ kind: 'key', key: text });
      expect(parseKeyHeader(sample.raw, { lengthMax: 1000 }), sample.name).toEqual(header);
    }
    expect(count).toBeGreaterThan(90);
  });

  test('that must fail, may fail or are no strings are refused by strict mode', () => {
    let count = 0;
    for (const sample of samples) {
      if (typeof sample.expected?.[0] === 'string' && sample.can_fail !== true) continue;
      count++;
      expect(parseKeyHeader(sample.raw, options).kind, sample.name).toBe('malformed');
    }
    expect(count).toBeGreaterThan(150);
  });
});
