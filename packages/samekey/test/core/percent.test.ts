/** Percent-encoding: what is equivalent becomes one spelling, what is not never does. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fieldOf, normalisePath, pairsOf } from '../../src/core/percent.ts';

const text = fc.string({
  unit: fc.constantFrom('%', '4', '1', '7', 'E', 'e', 'f', 'F', '2', '/', '~', 'z', '+', '=', 'é'),
});

/**
 * The meaning of a path: valid sequences of unreserved characters decoded, all else untouched; as a list, so that nothing
 * merges.
 */
function meaning(path: string): string[] {
  return [...path.matchAll(/%[0-9A-Fa-f]{2}|[\s\S]/gu)].map(([token]) => {
    if (token.length < 3) return token;
    const decoded = String.fromCharCode(Number.parseInt(token.slice(1), 16));
    return /[\w.~-]/.test(decoded) ? decoded : token.toUpperCase();
  });
}

function platformPairs(query: string): string {
  return JSON.stringify([...new URLSearchParams(`x&${query}`)]);
}

describe('a path', () => {
  test.each([
    ['/a%7Eb', '/a~b'],
    ['/a%7eb', '/a~b'],
    ['/%41%2d%5F', '/A-_'],
    ['/a%2fb', '/a%2Fb'],
    ['/a%20b', '/a%20b'],
    ['/%c3%a9', '/%C3%A9'],
    ['/é', '/é'],
    ['/a+b', '/a+b'],
    ['/%2e%2E/a', '/../a'],
    ['/a/../b/./c', '/a/../b/./c'],
    ['/a//b/', '/a//b/'],
    ['/%', '/%'],
    ['/%z1%2', '/%z1%2'],
    ['/%4%31', '/%4%31'],
    ['/%%341', '/%%341'],
    ['/%%7E', '/%~'],
    ['', ''],
  ])('%s is %s', (path, expected) => {
    expect(normalisePath(path)).toBe(expected);
  });

  test('keeps a different meaning different and needs no second pass', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(normalisePath(normalisePath(a))).toBe(normalisePath(a));
        // What merged has the same meaning.
        if (normalisePath(a) === normalisePath(b)) expect(meaning(a)).toEqual(meaning(b));
      }),
      { numRuns: 20_000 },
    );
    fc.assert(
      fc.property(text, (a) => {
        if (!/%(?![0-9A-Fa-f]{2})/.test(a)) expect(normalisePath(a)).toBe(meaning(a).join(''));
      }),
      { numRuns: 5000 },
    );
  });
});

describe('the pairs of a query', () => {
  test.each([
    ['', []],
    ['a=1&b=2', ['a', '1', 'b', '2']],
    ['b=2&a=1', ['b', '2', 'a', '1']],
    ['a', ['a', '']],
    ['a=', ['a', '']],
    ['&&a=1&', ['a', '1']],
    ['=', ['', '']],
    ['a=b=c', ['a', 'b=c']],
    ['a=b+c', ['a', 'b c']],
    ['a=b%20c', ['a', 'b c']],
    ['a=b%2Bc', ['a', 'b+c']],
    ['a%3Db=1%262', ['a=b', '1&2']],
    ['%61=%7e', ['a', '~']],
    ['a=é', ['a', '%C3%A9']],
    ['a=%c3%a9', ['a', '%C3%A9']],
    ['a=%ff', ['a', '%FF']],
    ['a=%00\u0000', ['a', '%00%00']],
    ['a=%25', ['a', '%25']],
    ['a=%', ['a', '%']],
    ['a=%4%31', ['a', '%4%31']],
    ['a=%%325', ['a', '%%325']],
    ['?a=1', ['?a', '1']],
  ])('%s are decoded in their order', (query, pairs) => {
    expect(pairsOf(query)).toEqual(pairs);
  });

  test('are equal for every well-formed spelling exactly if the URL parser of the platform says so', () => {
    const field = fc.string({
      unit: fc.constantFrom(
        'a',
        '%41',
        '%61',
        '%c3%a9',
        '%C3%A9',
        'é',
        '+',
        '%20',
        '%2B',
        '%26',
        '&',
        '=',
        '%25',
      ),
    });
    fc.assert(
      fc.property(field, field, (a, b) => {
        expect(JSON.stringify(pairsOf(a)) === JSON.stringify(pairsOf(b))).toBe(
          platformPairs(a) === platformPairs(b),
        );
      }),
      { numRuns: 5000 },
    );
  });

  test('have the spelling that a plain name is compared by', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        expect(pairsOf(encodeURIComponent(name))[0]).toBe(fieldOf(name));
        expect(pairsOf(new URLSearchParams([[name, '']]).toString())[0]).toBe(fieldOf(name));
      }),
    );
  });

  test('are found in time linear in the query', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    expect(pairsOf('%'.repeat(500_000))).toHaveLength(2);
    expect(pairsOf('%41&'.repeat(200_000))).toHaveLength(400_000);
    expect(normalisePath('%41'.repeat(300_000))).toBe('A'.repeat(300_000));
  });
});
