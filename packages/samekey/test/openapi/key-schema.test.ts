/** A validator that goes by the document refuses no key that the server takes. */

import { assert, constantFrom, integer, oneof, property, string } from 'fast-check';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { checkKey, type KeyOptions } from '../../src/core/key.ts';
import { parseKeyHeader } from '../../src/http/key-header.ts';
import { headerSchema, textSchema } from '../../src/openapi/key-schema.ts';

const OPTIONS: readonly KeyOptions[] = [
  {},
  { mode: 'strict' },
  { lengthMin: 3, lengthMax: 5 },
  { mode: 'strict', lengthMin: 3, lengthMax: 5 },
  { uuidOnly: true },
  { uuidOnly: 7 },
  { uuidOnly: 4, mode: 'strict' },
];
const UUIDS = ['0192d1a4-7c1e-7b6a-8f00-1a2b3c4d5e6f', '550E8400-E29B-41D4-A716-446655440000', '0192d1a4'];
const ASCII = string({
  unit: integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 8,
});
const key = oneof(ASCII, constantFrom(...UUIDS, 'a"b', 'a\\b', 'a,b', 'x'.repeat(255), 'x'.repeat(256), 'ü'));

/** As RFC 9651 writes a String. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

const ajv = new Ajv2020({ validateFormats: false });

describe.each(OPTIONS)('%j', (options) => {
  it('a header: quoted or bare, whatever is taken fits the schema, and a quoted one that fits is taken', () => {
    const fits = ajv.compile(headerSchema(options));
    assert(
      property(key, (text) => {
        for (const value of [text, quoted(text)]) {
          const { kind } = parseKeyHeader([value], options);
          // White space around a value is no part of it (RFC 9110 §5.5).
          if (kind === 'key') expect(fits(value.trim()), value).toBe(true);
        }
        const isTaken = parseKeyHeader([quoted(text)], options).kind === 'key';
        // Blank ones are refused, which a pattern need not say.
        if (text.trim() !== '') expect(fits(quoted(text)), text).toBe(isTaken);
      }),
      { numRuns: 500 },
    );
  });

  it('a text of its own', () => {
    const fits = ajv.compile(textSchema(options));
    assert(
      property(key, (text) => {
        if (text.trim() !== '') expect(fits(text), text).toBe(checkKey(text, options) === null);
      }),
      { numRuns: 500 },
    );
  });
});
