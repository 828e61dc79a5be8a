/** Keys as texts: which are taken, and which fault is named (contract §7.1). */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorCode } from '../../src/core/errors.ts';
import { checkKey, describeKeyFault, KEY_ROW, looksPersonal } from '../../src/core/key.ts';

const UUID = '0196f6d2-1c5a-7cc0-98c4-dc0c0c07398f';

function check(text: string) {
  return checkKey(text, { uuidOnly: true });
}

describe('a key', () => {
  // F33
  test.each([
    ['', 'empty'],
    [' ', 'blank'],
    ['   ', 'blank'],
    ['a\tb', 'control-character'],
    ['a\u0000b', 'control-character'],
    ['a\u007fb', 'control-character'],
    ['a\r\nb', 'control-character'],
    ['clé', 'not-ascii'],
    ['\u00a0', 'not-ascii'],
    ['\u0085', 'not-ascii'],
    ['🔑', 'not-ascii'],
    ['a'.repeat(256), 'too-long'],
    ['é'.repeat(1_000_000), 'too-long'],
  ] as const)('with a fault is refused by that fault (%#)', (text, fault) => {
    expect(checkKey(text)).toBe(fault);
  });

  test.each([
    'a',
    ' a ',
    'A',
    'a b',
    '"',
    '\\',
    '~',
    'a'.repeat(255),
    UUID,
    '4111111111111111',
    'x@example.org',
  ])('of printable ASCII is taken as it is (%#)', (text) => {
    expect(checkKey(text)).toBeNull();
  });

  test('is measured by the limits of the options, both ends included', () => {
    const options = { lengthMin: 3, lengthMax: 5 };
    expect(['ab', 'abc', 'abcde', 'abcdef'].map((text) => checkKey(text, options))).toEqual([
      'too-short',
      null,
      null,
      'too-long',
    ]);
  });

  test('may be required to be a UUID, in either case, of a version that is random or timed', () => {
    expect(check(UUID)).toBeNull();
    expect(check(UUID.toUpperCase())).toBeNull();
    for (const text of [`${UUID}0`, UUID.replaceAll('-', ''), `{${UUID}}`, `urn:uuid:${UUID}`, 'abc']) {
      expect(check(text)).toBe('not-uuid');
    }
    expect(check('00000000-0000-0000-0000-000000000000')).toBe('not-uuid');
    expect(check('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('not-uuid');
    expect(check('0196f6d2-1c5a-0cc0-98c4-dc0c0c07398f')).toBe('not-uuid');
    expect(check('0196f6d2-1c5a-7cc0-c8c4-dc0c0c07398f')).toBe('not-uuid');
  });

  test('that looks like personal data is refused only if asked', () => {
    expect(checkKey('pay-x@example.org')).toBeNull();
    expect(checkKey('pay-x@example.org', { refusePersonalData: true })).toBe('personal-data');
    expect(checkKey(UUID, { refusePersonalData: true })).toBeNull();
  });
});

describe('personal data', () => {
  test.each(['4111111111111111', '4111 1111 1111 1111', 'card:5555-5555-5555-4444', '378282246310005'])(
    'is found in a card number (%s)',
    (text) => {
      expect(looksPersonal(text)).toBe('card');
    },
  );

  test.each(['a@example.org', 'pay/first.last+tag@mail.example.co.uk/1'])(
    'is found in an e-mail address (%s)',
    (text) => {
      expect(looksPersonal(text)).toBe('email');
    },
  );

  test.each([
    '4111111111111112', // Luhn sum wrong
    '411111111111', // 12 digits
    '41111111111111111111', // 20 digits
    'x4111111111111111', // part of a word
    '1732760000008', // milliseconds since 1970
    '00000000000000',
    '41111111-1111-4111-8111-111111111111', // a UUID of digits
    'a@b',
    '@example.org',
    '',
  ])('is not seen where there is none (%s)', (text) => {
    expect(looksPersonal(text)).toBeNull();
  });

  test('is never seen in a UUID', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        (uuid) => looksPersonal(uuid) === null && looksPersonal(`order_${uuid}`) === null,
      ),
    );
  });

  test('is never seen in a UUID whose last groups alone would be a card number', () => {
    const tails = Array.from({ length: 10 }, (_, digit) => `8111-41111111111${digit}`);
    expect(tails.filter((tail) => looksPersonal(tail) === 'card')).toHaveLength(1);
    for (const tail of tails) expect(looksPersonal(`abcdefab-cdef-4abc-${tail}`)).toBeNull();
  });

  test('is looked for in time linear in the text', () => {
    // Quadratic work would take minutes: the time limit of every test ends it.
    for (const text of ['1 '.repeat(1_000_000), 'a@'.repeat(1_000_000), `a@${'b.'.repeat(1_000_000)}`])
      expect(looksPersonal(text)).toBeNull();
  });
});

describe('key options', () => {
  test.each([
    { mode: 'loose' as 'strict' },
    { lengthMax: 0 },
    { lengthMax: 1025 },
    { lengthMax: 1.5 },
    { lengthMin: 0 },
    { lengthMin: 10, lengthMax: 9 },
  ])('out of range are refused at the start (%o)', (options) => {
    let code: unknown;
    try {
      KEY_ROW.read(options, 'key');
    } catch (error) {
      code = errorCode(error);
    }
    expect(code).toBe('ERR_SAMEKEY_OPTIONS');
  });

  test('in range are taken, and a fault is described in words that name its limit', () => {
    expect(() => KEY_ROW.read({}, 'key')).not.toThrow();
    expect(() => KEY_ROW.read({ mode: 'strict', lengthMax: 64, lengthMin: 64 }, 'key')).not.toThrow();
    expect(describeKeyFault('too-long', { lengthMax: 64 })).toContain('64');
    expect(describeKeyFault('grammar', { mode: 'strict' })).not.toBe(describeKeyFault('grammar'));
  });
});

test('takes UUIDs of one version alone where that is asked', () => {
  const [four, seven] = ['8e03978e-40d5-43e8-bc93-6894a57f9324', '017F22E2-79B0-7CC3-98C4-DC0C0C07398F'];
  const faults = ([4, 7, true, false] as const).map((uuidOnly) =>
    [four, seven, 'key-1'].map((key) => checkKey(key, { uuidOnly })),
  );
  expect(faults).toEqual([
    [null, 'not-uuid', 'not-uuid'],
    ['not-uuid', null, 'not-uuid'],
    [null, null, 'not-uuid'],
    [null, null, null],
  ]);
  expect(describeKeyFault('not-uuid', { uuidOnly: 7 })).toContain('a UUID of version 7');
});
