/**
 * Canonical JSON against an independent model (`canonical-json-model.ts`). The same properties are run on deliberately wrong
 * canonicalisers, which they must find out.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, DEPTH_MAX } from '../../src/fingerprint/canonical-json.ts';
import { pathTree, pointersOf } from '../../src/fingerprint/path-tree.ts';
import {
  type Canonicaliser,
  exactNumbers,
  otherValueOtherText,
  sameValueSameText,
} from './canonical-json-model.ts';

const encoder = new TextEncoder();

const ours: Canonicaliser = (text) => {
  const result = canonicalJson(encoder.encode(text));
  return result.kind === 'canonical' ? result.text : null;
};

function leavingOut(text: string, omit: readonly string[]): unknown {
  return canonicalJson(encoder.encode(text), { omit: pathTree(omit.map((name) => `/${name}`)) });
}

function kindOf(text: string): string {
  return canonicalJson(encoder.encode(text)).kind;
}

const RUNS = { numRuns: 3000, seed: 20260728 };

function nest(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth);
}

function select(text: string, paths: { pick?: string[]; omit?: string[] }): string | null {
  const result = canonicalJson(encoder.encode(text), {
    pick: pathTree(paths.pick && pointersOf(paths.pick)),
    omit: pathTree(paths.omit && pointersOf(paths.omit)),
  });
  return result.kind === 'canonical' ? result.text : null;
}

describe('canonical JSON', () => {
  test('is one text for all spellings of one value', () => {
    fc.assert(sameValueSameText(ours), RUNS);
  });

  test('is another text for every other value', () => {
    fc.assert(otherValueOtherText(ours), RUNS);
  });

  test('agrees with exact fractions on which numbers are equal', () => {
    fc.assert(exactNumbers(ours), { ...RUNS, numRuns: 20_000 });
  });

  test('agrees with exact arithmetic on exponents longer than a double can hold', () => {
    const exponent = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
    const near = fc.tuple(
      fc.constantFrom(10n ** 15n, 10n ** 16n, 10n ** 30n, 10n ** 15n - 1n, 2n * 10n ** 15n, 0n),
      fc.integer({ min: -30, max: 30 }),
      fc.constantFrom(1n, -1n),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          exponent,
          near.map(([base, offset, sign]) => sign * (base + BigInt(offset))),
        ),
        fc.nat(40),
        fc.nat(40),
        (power, zeros, places) => {
          // 7 followed by zeros, behind a point and zeros: the value is 7 × 10^power in any case.
          const shifted = power - BigInt(zeros) + BigInt(places);
          const text = `${places === 0 ? '7' : `0.${'0'.repeat(places - 1)}7`}${'0'.repeat(zeros)}`;
          const shown =
            places === 0
              ? `${text}e${shifted}`
              : `${text}e+00${power + BigInt(places)}`.replace('+00-', '-00');
          expect(ours(shown)).toBe(power === 0n ? '7' : `7e${power}`);
        },
      ),
      { numRuns: 5000 },
    );
  });

  test('is its own canonical text, and has the value that JSON.parse sees', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        const canonical = ours(text)!;
        expect(ours(canonical)).toBe(canonical);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('takes exactly the texts that JSON.parse takes', () => {
    const unit = fc.constantFrom(
      ...Array.from('{}[]",:0123e+-.\\u tfn \n'),
      'true',
      'null',
      '"a"',
      '\\u00',
      '\u0001',
      '\u00a0',
    );
    const text = fc.oneof(
      fc.string({ unit, maxLength: 12 }),
      fc.tuple(fc.json(), fc.nat(), unit, fc.boolean()).map(([json, at, with_, isInsert]) => {
        const cut = at % (json.length + 1);
        return json.slice(0, cut) + with_ + json.slice(isInsert ? cut : cut + 1);
      }),
    );
    fc.assert(
      fc.property(text, (some) => {
        let isJson = true;
        try {
          JSON.parse(some);
        } catch {
          isJson = false;
        }
        expect(kindOf(some)).toBe(isJson ? 'canonical' : 'syntax');
      }),
      { numRuns: 20_000 },
    );
  });

  // F28
  test.each([
    ['order of members', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['white space', '{"a":[1,2]}', ' {\n"a" :\t[ 1 , 2 ]\r}\n'],
    ['escapes', '{"\\u0061":"\\u0062\\/"}', '{"a":"b/"}'],
    ['escaped pairs', '"\\ud83d\\ude00"', '"😀"'],
    ['a fraction of zeros', '[1.0,1e0,100e-2,0.01E+2]', '[1,1,1,1]'],
    ['minus zero', '[-0,-0.0,0e5,-0E-9]', '[0,0,0,0]'],
    ['trailing zeros', '[100,1e2,10.00e1]', '[100,100,100]'],
  ])('does not see a difference in %s', (_, a, b) => {
    expect(ours(a)).not.toBeNull();
    expect(ours(a)).toBe(ours(b));
  });

  // F29
  test.each([
    ['large integers', '9007199254740993', '9007199254740992'],
    ['small fractions', '0.1', '0.10000000000000001'],
    ['huge exponents', '1e999999999', '1e999999998'],
    ['exponents beyond all arithmetic', `1e${'9'.repeat(5000)}`, `1e${'9'.repeat(4999)}8`],
    ['signs', '1', '-1'],
    ['null and absent', '{"a":null}', '{}'],
    ['repeated members', '{"a":1,"a":1}', '{"a":1}'],
    ['order of repeated members', '{"a":1,"a":2}', '{"a":2,"a":1}'],
    ['order of items', '[1,2]', '[2,1]'],
    ['numbers and strings', '1', '"1"'],
    ['half pairs', '"\\ud800"', '"\\ud801"'],
    ['half pairs and their replacement', '"\\ud800"', '"\\ufffd"'],
    ['half pairs and the text of their escape', '"\\ud800"', '"\\\\ud800"'],
    ['pairs in the wrong order', '"\\ude00\\ud83d"', '"\\ud83d\\ude00"'],
    ['normal forms of Unicode', '"é"', '"e\u0301"'],
    ['letter case', '"A"', '"a"'],
    ['empty arrays and objects', '[]', '{}'],
    ['nesting', '[[],[]]', '[[[]]]'],
    ['commas in strings', '["a,b"]', '["a","b"]'],
  ])('sees a difference in %s', (_, a, b) => {
    expect(ours(a)).not.toBeNull();
    expect(ours(b)).not.toBeNull();
    expect(ours(a)).not.toBe(ours(b));
  });

  test('puts every level of a deep body in order, whatever is left out of it', () => {
    const names = ['é', 'b', 'a', 'c', '\u0061\u0000'];
    const nested = (order: (names: readonly string[]) => readonly string[]): string => {
      let value = '[{"y":1,"x":2},{"y":1,"x":2}]';
      for (let depth = 0; depth < 400; depth++) {
        const here = value;
        const members = order(names).map((name, at, all) => {
          const inner = name === names[depth % names.length] ? here : `"${'x'.repeat(depth % 70)}"`;
          return `${JSON.stringify(name)}:${at === all.length ? '' : inner}`;
        });
        value = `{${members.join(',')}}`;
      }
      return value;
    };
    const ordered = nested((all) => all.toSorted((a, b) => (a < b ? -1 : 1)));
    const expected = ordered.replaceAll('"y":1,"x":2', '"x":2,"y":1');
    expect(ours(nested((all) => all))).toBe(expected);
    expect(ours(nested((all) => all.toReversed()))).toBe(expected);
    // Leaving out the deep part, and what comes after it, is as if it had not been there.
    const deep = nested((all) => all.toReversed());
    expect(leavingOut(`{"z":${deep},"b":${deep},"a":1}`, ['b'])).toEqual({
      kind: 'canonical',
      text: `{"a":1,"z":${expected}}`,
    });
    expect(leavingOut(`{"z":${deep},"d":{"b":1,"a":2},"c":3}`, ['z'])).toEqual({
      kind: 'canonical',
      text: '{"c":3,"d":{"a":2,"b":1}}',
    });
  });

  test('sorts members by the code units of their decoded names, few or many of them', () => {
    expect(ours('{"\\uff61":1,"😀":2,"é":3,"a!":4,"a":5,"":6,"\\u0041":7}')).toBe(
      '{"":6,"A":7,"a":5,"a!":4,"é":3,"😀":2,"\uff61":1}',
    );
    expect(ours('{"#":1,"\\"":2,"!":3,"\\\\":4,"]":5,"[":6}')).toBe(
      '{"!":3,"\\"":2,"#":1,"[":6,"\\\\":4,"]":5}',
    );
    const many = Array.from({ length: 100 }, (_, i) => `"k${(i * 37) % 50}":${i}`);
    const canonical = ours(`{${many.join(',')}}`)!;
    const names = [...canonical.matchAll(/"(\w+)":(\d+)/g)].map(
      ([, name, value]) => [name!, Number(value)] as const,
    );
    expect(names).toEqual(names.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1])));
    expect(names).toHaveLength(100);
  });

  test('ignores one byte order mark at the start and no other', () => {
    expect(ours('\ufeff{"a":1}')).toBe('{"a":1}');
    expect(kindOf('\ufeff\ufeff1')).toBe('syntax');
    expect(kindOf('1\ufeff')).toBe('syntax');
  });

  test('does not exist for bytes that are not UTF-8, and the next body is read as if nothing had been', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xe2],
    ]) {
      expect(canonicalJson(Uint8Array.from(bytes)).kind).toBe('invalid-utf8');
      expect(ours('"é"')).toBe('"é"');
    }
    expect(canonicalJson(Uint8Array.from([0xff, 0xfe, 0x31, 0x00])).kind).toBe('invalid-utf8');
  });

  test.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{,}',
    "{'a':1}",
    '{a:1}',
    '01',
    '1.',
    '.5',
    '+1',
    '-',
    '1e',
    '1e+',
    'NaN',
    '"\u001f"',
    '"\n"',
    '"\\\u001f"',
  ])('does not exist for what is not JSON (%s)', (text) => {
    expect(kindOf(text)).toBe('syntax');
  });

  test('is bounded in depth, and a nesting of any depth does no harm', () => {
    expect(kindOf(nest(DEPTH_MAX, '[', ']'))).toBe('canonical');
    expect(kindOf(nest(DEPTH_MAX + 1, '[', ']'))).toBe('too-deep');
    expect(kindOf(`${'{"a":'.repeat(DEPTH_MAX)}1${'}'.repeat(DEPTH_MAX)}`)).toBe('canonical');
    expect(kindOf(`${'{"a":'.repeat(DEPTH_MAX + 1)}1${'}'.repeat(DEPTH_MAX + 1)}`)).toBe('too-deep');
    expect(kindOf(nest(10_000, '[', ']'))).toBe('too-deep');
    expect(kindOf(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`)).toBe('too-deep');
    expect(kindOf('['.repeat(1_000_000))).toBe('too-deep');
    expect(kindOf(`${'{"a":['.repeat(DEPTH_MAX / 2)}${']}'.repeat(DEPTH_MAX / 2)}`)).toBe('canonical');
  });

  test('takes time linear in the body, whatever numbers, strings and members it has', () => {
    const megabyte = 1 << 20;
    const bodies = [
      '9'.repeat(megabyte),
      `1${'0'.repeat(megabyte)}`,
      `0.${'0'.repeat(megabyte)}1`,
      `1${'0'.repeat(megabyte)}1`,
      `10e${'9'.repeat(megabyte)}`,
      `0.1e1${'0'.repeat(megabyte)}`,
      `1e-${'0'.repeat(megabyte)}1`,
      `"${'\\u0061'.repeat(megabyte / 6)}"`,
      `"${'a'.repeat(megabyte)}"`,
      `[${'1.50,'.repeat(megabyte / 5)}0]`,
      `{${Array.from({ length: 80_000 }, (_, i) => `"k${999_999 - i}":1`).join()}}`,
      `${'{"a":'.repeat(DEPTH_MAX)}"${'a'.repeat(megabyte)}"${'}'.repeat(DEPTH_MAX)}`,
    ];
    for (const body of bodies) {
      expect(kindOf(body)).toBe('canonical');
      // Each takes 5–100 ms; quadratic work would take minutes, which the time limit of every test ends.
    }
    expect(ours(`10e${'9'.repeat(megabyte)}`)).toBe(`1e1${'0'.repeat(megabyte)}`);
    expect(ours(`0.1e1${'0'.repeat(megabyte)}`)).toBe(`1e${'9'.repeat(megabyte)}`);
  });
});

describe('the properties above', () => {
  const sorted = (value: unknown): unknown =>
    typeof value !== 'object' || value === null
      ? value
      : Array.isArray(value)
        ? value.map(sorted)
        : Object.fromEntries(
            Object.entries(value)
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([k, v]) => [k, sorted(v)]),
          );
  const wrong: Record<string, Canonicaliser> = {
    'that rounds to doubles and drops repeats': (text) => JSON.stringify(sorted(JSON.parse(text))),
    'that keeps the order of members': (text) => JSON.stringify(JSON.parse(text)),
    'that keeps white space': (text) => text,
    'that replaces half pairs': (text) => ours(text)?.replaceAll(/\\ud[89a-f]../g, '\ufffd') ?? null,
    'that forgets signs': (text) => ours(text)?.replaceAll('-', '') ?? null,
    'that sorts arrays': (text) => ours(text)?.replaceAll(/[[\],]/g, '') ?? null,
  };

  test.each(Object.keys(wrong))('find out a canonicaliser %s', (name) => {
    const canonicalise = wrong[name]!;
    const found = [
      fc.check(sameValueSameText(canonicalise), RUNS).failed,
      fc.check(otherValueOtherText(canonicalise), RUNS).failed,
    ];
    expect(found).toContain(true);
  });

  test('find out a canonicaliser of numbers that uses doubles', () => {
    expect(
      fc.check(
        exactNumbers((text) => String(Number(text))),
        { ...RUNS, numRuns: 20_000 },
      ).failed,
    ).toBe(true);
  });
});

describe('a selection of members', () => {
  test.each([
    [{ omit: ['b'] }, '{"a":1,"c":{"b":3}}'],
    [{ omit: ['/b', '/c/b'] }, '{"a":1,"c":{}}'],
    [{ omit: ['/a/x'] }, '{"a":1,"b":[10,2],"c":{"b":3}}'.replace('10', '1e1')],
    [{ omit: ['/b/0'] }, '{"a":1,"b":[2],"c":{"b":3}}'],
    [{ omit: ['/b/x'] }, '{"a":1,"b":[1e1,2],"c":{"b":3}}'],
    [{ pick: ['a', 'nothing'] }, '{"a":1}'],
    [{ pick: ['/c/b'] }, '{"c":{"b":3}}'],
    [{ pick: ['/c/nothing'] }, '{"c":{}}'],
    [{ pick: ['/b/1'] }, '{"b":[2]}'],
    [{ pick: ['a', 'c'], omit: ['/c/b'] }, '{"a":1,"c":{}}'],
    [{ pick: [] }, '{}'],
    [{ omit: [] }, '{"a":1,"b":[1e1,2],"c":{"b":3}}'],
    // What cannot be descended into is kept whole, or a wrong path would make all requests equal.
    [{ pick: ['/b/x'] }, '{"b":[1e1,2]}'],
    [{ pick: ['/a/x'] }, '{"a":1}'],
  ])('%o keeps what it says', (paths, expected) => {
    expect(select('{"c":{"b":3},"b":[10,2],"a":1}', paths)).toBe(expected);
  });

  test('reads names by JSON Pointer only after a slash', () => {
    expect(select('{"/a":1,"~":2,"a/b":3,"":4}', { omit: ['/~1a'] })).toBe('{"":4,"a/b":3,"~":2}');
    expect(select('{"/a":1,"~":2,"a/b":3,"":4}', { omit: ['a/b', '~', '/'] })).toBe('{"/a":1}');
    expect(select('{"~1":1,"/":2}', { omit: ['/~01'] })).toBe('{"/":2}');
  });

  test('compares names as they are decoded', () => {
    expect(select('{"\\u0061":1,"\\"":2,"b":3}', { omit: ['a', '"'] })).toBe('{"b":3}');
  });

  test('applies to every repeat of a member', () => {
    expect(select('{"a":1,"b":2,"a":3}', { omit: ['a'] })).toBe('{"b":2}');
  });

  test('leaves arrays and scalars whole if it names members only', () => {
    expect(select('[1,2]', { pick: ['a'] })).toBe('[1,2]');
    expect(select('7', { pick: ['a'], omit: ['a'] })).toBe('7');
  });

  test('does not make bad syntax good', () => {
    expect(select('{"a":01}', { omit: ['a'] })).toBeNull();
  });

  test.each([[''], ['/a~'], ['/a~2']])('with a path that is no path is refused (%s)', (path) => {
    expect(() => pointersOf([path])).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }));
  });
});
