import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { envelopeBytes, envelopeText, sealInBytes, sealInText } from '../../src/seal/envelope.ts';

const keyId = fc.string({
  minLength: 1,
  maxLength: 255,
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
});

test('a seal comes out of its envelope as it went in, whatever the id and the bytes', () => {
  fc.assert(
    fc.property(keyId, fc.uint8Array({ maxLength: 200 }), (id, bytes) => {
      expect(sealInBytes(envelopeBytes({ keyId: id, bytes }))).toEqual({ keyId: id, bytes });
      expect(sealInText(envelopeText({ keyId: id, bytes }))).toEqual({ keyId: id, bytes });
    }),
  );
});

test('no JSON and no text is taken for an envelope', () => {
  fc.assert(
    fc.property(fc.json(), fc.string({ unit: 'binary' }), (json, text) => {
      expect(sealInText(json)).toBeNull();
      expect(sealInBytes(new TextEncoder().encode(json))).toBeNull();
      expect(sealInBytes(new TextEncoder().encode(text))).toBeNull();
    }),
  );
});

test('an id that no envelope can hold is refused', () => {
  for (const id of ['', 'a b', 'é', 'x'.repeat(256)]) {
    expect(() => envelopeText({ keyId: id, bytes: new Uint8Array() })).toThrow('1–255');
    expect(() => envelopeBytes({ keyId: id, bytes: new Uint8Array() })).toThrow('1–255');
  }
});

test('a text envelope that is cut short names no key', () => {
  expect(sealInText('samekey-seal.1.')?.keyId).toBe('');
  expect(sealInText('samekey-seal.1.k1')?.keyId).toBe('');
});
