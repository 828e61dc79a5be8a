/**
 * The independent model that canonical JSON is held to: values as trees, numbers as exact fractions of BigInts, spellings drawn at
 * random. Its properties take any canonicaliser, also one that is wrong.
 */
import * as fc from 'fast-check';

/** The canonical text of some JSON; null for what is none. */
export type Canonicaliser = (text: string) => string | null;

type Tree =
  | { readonly kind: 'literal'; readonly text: 'true' | 'false' | 'null' }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly Tree[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Tree])[] };

// A small world, so that equal and nearly equal values meet often.
const digits = fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 4 });
const numberText = fc
  .tuple(
    fc.boolean(),
    digits,
    fc.option(digits),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits)),
  )
  .map(([negative, integer, fraction, exponent]) => {
    const whole = integer.replace(/^0+(?=.)/, '');
    const power = exponent === null ? '' : exponent[0] + exponent[1].slice(0, 2);
    return `${negative ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}${power}`;
  });
const stringText = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    '"',
    '\\',
    '/',
    '\n',
    '\u0000',
    '\u007f',
    'é',
    '\u2028',
    '😀',
    '\ud83d',
    '\ude00',
    '\uffff',
  ),
  maxLength: 3,
});
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.record({ kind: fc.constant('literal' as const), text: fc.constantFrom('true', 'false', 'null') }),
    fc.record({ kind: fc.constant('number' as const), text: numberText }),
    fc.record({ kind: fc.constant('string' as const), text: stringText }),
    fc.record({ kind: fc.constant('array' as const), items: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({
      kind: fc.constant('object' as const),
      members: fc.array(fc.tuple(stringText, tie('tree')), { maxLength: 4 }),
    }),
  ),
})) as { tree: fc.Arbitrary<Tree> };

interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

function fractionOf(text: string): Fraction {
  const [, sign, integer = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(text) ?? [];
  const power = Number(exponent) - fraction.length;
  const significand = BigInt(integer + fraction) * (sign === '-' ? -1n : 1n);
  return power >= 0
    ? { over: significand * 10n ** BigInt(power), under: 1n }
    : { over: significand, under: 10n ** BigInt(-power) };
}

function sameNumber(a: string, b: string): boolean {
  const [x, y] = [fractionOf(a), fractionOf(b)];
  return x.over * y.under === y.over * x.under;
}

/** Equality as contract §7.5 has it: order of members is nothing, unless they have one name. */
function sameTree(a: Tree, b: Tree): boolean {
  if (a.kind === 'object' && b.kind === 'object') {
    const names = new Set([...a.members, ...b.members].map(([name]) => name));
    return [...names].every((name) => sameItems(valuesOf(a.members, name), valuesOf(b.members, name)));
  }
  if (a.kind === 'array' && b.kind === 'array') return sameItems(a.items, b.items);
  if (a.kind === 'number' && b.kind === 'number') return sameNumber(a.text, b.text);
  return a.kind === b.kind && 'text' in a && 'text' in b && a.text === b.text;
}

function sameItems(a: readonly Tree[], b: readonly Tree[]): boolean {
  return a.length === b.length && a.every((item, index) => sameTree(item, b[index]!));
}

function valuesOf(members: readonly (readonly [string, Tree])[], name: string): Tree[] {
  return members.filter((member) => member[0] === name).map((member) => member[1]);
}

/** Writes a tree in one of its many spellings; `next(n)` draws a number below n. */
function spell(value: Tree, next: (bound: number) => number): string {
  const space = () => ['', '', ' ', '\n\t', '\r '][next(5)]!;
  const padded = (text: string) => space() + text + space();
  switch (value.kind) {
    case 'literal':
      return padded(value.text);
    case 'number':
      return padded(respellNumber(value.text, next));
    case 'string':
      return padded(spellString(value.text, next));
    case 'array':
      return padded(`[${value.items.map((item) => spell(item, next)).join(',') || space()}]`);
    case 'object': {
      const members = shuffle(value.members, next).map(
        ([name, item]) => `${padded(spellString(name, next))}:${spell(item, next)}`,
      );
      return padded(`{${members.join(',') || space()}}`);
    }
    default:
      return value satisfies never;
  }
}

function respellNumber(text: string, next: (bound: number) => number): string {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(text) ?? [];
  // Move the point, pad with zeros.
  const power = Number(exponent) - fraction.length - next(3);
  const zeros = '0'.repeat(Number(exponent) - fraction.length - power);
  const all = (integer + fraction + zeros).replace(/^0+(?=.)/, '');
  const cut = next(all.length);
  const [head, tail] = cut === 0 ? [all, ''] : [all.slice(0, -cut), `.${all.slice(-cut)}`];
  const moved = power + cut;
  const isZero = /^0+$/.test(all);
  const signs = isZero && next(2) === 0 ? (sign === '' ? '-' : '') : sign;
  const mark = ['e', 'E'][next(2)]!;
  const plus = moved >= 0 && next(2) === 0 ? '+' : '';
  return `${signs}${head}${tail}${moved === 0 && next(2) === 0 ? '' : `${mark}${plus}${moved}`}`;
}

function spellString(text: string, next: (bound: number) => number): string {
  let out = '';
  for (const character of text) {
    const escaped = character.replaceAll(/[\s\S]/g, (unit) => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${next(2) === 0 ? hex : hex.toUpperCase()}`;
    });
    const mustEscape = character < ' ' || /["\\]|\p{Surrogate}/u.test(character);
    out += mustEscape || next(3) === 0 ? (character === '/' ? '\\/' : escaped) : character;
  }
  return `"${out}"`;
}

/** Members in another order; those of one name keep theirs. */
function shuffle<T>(
  members: readonly (readonly [string, T])[],
  next: (bound: number) => number,
): (readonly [string, T])[] {
  const names = [...new Set(members.map(([name]) => name))];
  const keys = new Map(names.map((name) => [name, next(100)]));
  return members.toSorted((a, b) => keys.get(a[0])! - keys.get(b[0])!);
}

/** A tree that differs little: two values drawn apart are hardly ever alike enough to be taken for each other. */
function neighbour(value: Tree, next: (bound: number) => number): Tree {
  switch (value.kind) {
    case 'literal':
      return { kind: 'string', text: value.text };
    case 'number':
      return { kind: 'number', text: nearNumber(value.text, next) };
    case 'string': {
      const at = next(value.text.length + 1);
      const unit = ['a', '\ud83d', '\ude00', '\ufffd', '\u0000', ''][next(6)]!;
      return { kind: 'string', text: value.text.slice(0, at) + unit + value.text.slice(at + 1) };
    }
    case 'array':
      return { kind: 'array', items: nearList(value.items, next, (item) => neighbour(item, next)) };
    case 'object':
      return {
        kind: 'object',
        members: nearList(value.members, next, ([name, item]) => [name, neighbour(item, next)] as const),
      };
    default:
      return value satisfies never;
  }
}

function nearNumber(text: string, next: (bound: number) => number): string {
  const [, sign = '', integer = '', fraction = '', exponent = ''] =
    /^(-?)(\d+)(?:\.(\d+))?([eE].*)?$/.exec(text) ?? [];
  switch (next(4)) {
    case 0:
      return `${sign === '' ? '-' : ''}${text.slice(sign.length)}`;
    case 1:
      return `${sign}${integer}.${fraction}${'0'.repeat(next(20))}1${exponent}`;
    case 2:
      return `${sign}${integer === '0' ? '' : integer}${next(9) + 1}${fraction === '' ? '' : `.${fraction}`}${exponent}`;
    default:
      return `${sign}${integer}${fraction === '' ? '' : `.${fraction}`}e${next(9)}`;
  }
}

function nearList<T>(list: readonly T[], next: (bound: number) => number, change: (item: T) => T): T[] {
  const at = next(Math.max(list.length, 1));
  const item = list[at];
  if (item === undefined) return [];
  const [before, after] = [list.slice(0, at), list.slice(at + 1)];
  // Left out, doubled, moved to the end, or changed.
  return (
    [
      [...before, ...after],
      [...before, item, item, ...after],
      [...before, ...after, item],
    ][next(6)] ?? [...before, change(item), ...after]
  );
}

// The property: two spellings are one text exactly if their values are equal.
const spelling = fc.infiniteStream(fc.nat(10_007));
function drawFrom(stream: fc.Stream<number>): (bound: number) => number {
  return (bound) => Number(stream.next().value) % bound;
}

/** However one value is spelt, its text is one. */
export const sameValueSameText = (canonicalise: Canonicaliser) =>
  fc.property(tree, spelling, spelling, (value, a, b) => {
    const first = canonicalise(spell(value, drawFrom(a)));
    return first !== null && first === canonicalise(spell(value, drawFrom(b)));
  });

/** Values that differ a little have texts that differ. */
export const otherValueOtherText = (canonicalise: Canonicaliser) =>
  fc.property(tree, fc.option(tree, { freq: 2 }), spelling, (a, other, stream) => {
    const next = drawFrom(stream);
    const b = other ?? neighbour(a, next);
    return (canonicalise(spell(a, next)) === canonicalise(spell(b, next))) === sameTree(a, b);
  });

/** Numbers have one text exactly when they are equal. */
export const exactNumbers = (canonicalise: Canonicaliser) =>
  fc.property(numberText, fc.option(numberText), spelling, (a, other, stream) => {
    const b = other ?? nearNumber(a, drawFrom(stream));
    return (canonicalise(a) === canonicalise(b)) === sameNumber(a, b);
  });
