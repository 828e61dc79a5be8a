/** Scopes: no two of them are one text, and a missing value is never one. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorCode } from '../../src/core/errors.ts';
import { encodeScope, SCOPE_BYTES_MAX, singleTenant } from '../../src/core/scope.ts';

function codeOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return errorCode(error) ?? error;
  }
  return 'no error';
}

// Texts that are likely to collide: separators, escapes, and what the encoding itself produces.
const tricky = fc.string({
  unit: fc.constantFrom('a', '/', '|', '%', '*', ' ', '2', 'F', 'é', '🔑', '\u0000', ','),
  minLength: 1,
  maxLength: 5,
});
const parts = fc.array(tricky, { minLength: 1, maxLength: 3 });
const operation = fc.option(tricky);

describe('a scope', () => {
  test('is readable where its parts are', () => {
    expect(encodeScope(['tenant-1', 'user@example.org'], null)).toBe('tenant-1/user@example.org');
    expect(encodeScope(['tenant-1', 'user:7'], 'POST /payments/:')).toBe('tenant-1/user:7|POST /payments/:');
    expect(encodeScope(['a b', 'x/y', 'é'], null)).toBe('a%20b/x%2Fy/%C3%A9');
  });

  // F25, F30
  test('does not collide when parts contain separators, and the number of parts counts', () => {
    const all = [
      ['a', 'b'],
      ['a/b'],
      ['ab'],
      ['a%2Fb'],
      ['a', 'b', 'c'],
      ['a/b', 'c'],
      ['a', 'b/c'],
      ['*'],
      ['a|b'],
      ['A', 'b'],
      ['a '],
      ['a'],
    ].flatMap((some) => [null, 'b', 'a|b'].map((name) => encodeScope(some, name)));
    expect(new Set(all).size).toBe(all.length);
  });

  test('is equal for equal parts and operation only', () => {
    fc.assert(
      fc.property(parts, operation, parts, operation, (a, x, b, y) => {
        const isSame = JSON.stringify([a, x]) === JSON.stringify([b, y]);
        expect(encodeScope(a, x) === encodeScope(b, y)).toBe(isSame);
        expect(encodeScope(a, x)).toBe(encodeScope([...a], x));
      }),
      { numRuns: 5000 },
    );
  });

  test('can be read back, so that nothing of it is lost', () => {
    fc.assert(
      fc.property(parts, operation, (some, name) => {
        const text = encodeScope(some, name);
        const bar = text.indexOf('|');
        const head = bar < 0 ? text : text.slice(0, bar);
        expect(head.split('/').map(decodeURIComponent)).toEqual(some);
        expect(bar < 0 ? null : decodeURIComponent(text.slice(bar + 1))).toBe(name);
      }),
      { numRuns: 2000 },
    );
  });

  test('is printable ASCII without a space at its ends, whatever the parts are', () => {
    fc.assert(
      fc.property(parts, operation, (some, name) => {
        expect(encodeScope(some, name)).toMatch(/^[!-~](?:[ -~]*[!-~])?$/);
      }),
    );
  });

  test.each([
    ['no parts', []],
    ['a missing user id', [undefined]],
    ['a missing second part', ['tenant', undefined]],
    ['null', [null]],
    ['a number', [7]],
    ['an object', [{}]],
    ['an empty text', ['tenant', '']],
    ['half of a surrogate pair', ['a\ud800']],
    ['a hole', Object.assign([], { length: 1 })],
    ['no array', 'tenant'],
    // F97
    ['a missing value as text', ['tenant', String(undefined)]],
    ['null as text', [String(null)]],
    ['a number that is none as text', [String(Number.NaN)]],
    ['an object as text', ['[object Object]']],
    ['a promise as text', ['[object Promise]']],
    ['nothing', undefined],
  ])('of %s throws and never becomes a text', (_, some) => {
    expect(codeOf(() => encodeScope(some as string[], null))).toBe('ERR_SAMEKEY_OPTIONS');
  });

  // F97
  test('takes the text of a missing value behind a prefix, and proposes one', () => {
    expect(encodeScope(['t:undefined', 'nullable', 'NaNa'], null)).toBe('t:undefined/nullable/NaNa');
    expect(() => encodeScope(['null'], null)).toThrow(/"t:null"/);
  });

  test('with an operation that is empty or ill-formed throws', () => {
    expect(codeOf(() => encodeScope(['a'], ''))).toBe('ERR_SAMEKEY_OPTIONS');
    expect(codeOf(() => encodeScope(['a'], '\udfff'))).toBe('ERR_SAMEKEY_OPTIONS');
    expect(codeOf(() => encodeScope(['a'], undefined as unknown as null))).toBe('ERR_SAMEKEY_OPTIONS');
  });

  test('has at most 512 bytes', () => {
    expect(encodeScope(['a'.repeat(SCOPE_BYTES_MAX)], null)).toHaveLength(512);
    expect(codeOf(() => encodeScope(['a'.repeat(SCOPE_BYTES_MAX + 1)], null))).toBe('ERR_SAMEKEY_OPTIONS');
    expect(codeOf(() => encodeScope(['é'.repeat(86)], null))).toBe('ERR_SAMEKEY_OPTIONS');
  });

  test('never has a part in its error message', () => {
    try {
      encodeScope(['secret'.repeat(100)], null);
      expect.unreachable();
    } catch (error) {
      expect(String(error)).not.toContain('secret');
    }
  });
});

describe('the single-tenant scope', () => {
  test('is one text that no tenant can name', () => {
    const text = encodeScope(singleTenant(), null);
    expect(text).toBe('*');
    expect(encodeScope(singleTenant(), 'POST /a')).toBe('*|POST /a');
    for (const name of [text, ...singleTenant(), '%2A']) expect(encodeScope([name], null)).not.toBe(text);
    expect(encodeScope([...singleTenant(), 'b'], null)).not.toContain('*');
  });

  test('cannot be changed', () => {
    expect(() => (singleTenant() as string[]).push('a')).toThrow(TypeError);
  });
});
