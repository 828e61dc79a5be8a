/**
 * Amounts as exact decimals: `10`, `10.0` and `1e1` are one amount, and no double is ever in between.
 *
 * Invariant: digits and exponent are bounded, so that no line of a file can ask for more than a moment.
 */

/** `units × 10^-scale`, without trailing zeros: equal amounts are equal member by member. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** More digits than any amount of money has, and few enough to add up quickly. */
const DIGITS_MAX = 60;
const FORM = /^([+-]?)(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Zero. */
export const ZERO: Decimal = { units: 0n, scale: 0 };

/**
 * From text, a bigint, or a whole number that a double holds exactly; `shift` is how many digits stand behind the point
 * that is not written (2 for amounts in cents). Null for what is no such amount.
 */
export function toDecimal(value: unknown, shift = 0): Decimal | null {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return toDecimal(String(value), shift);
  if (typeof value !== 'string') return null;
  const form = FORM.exec(value.trim());
  if (form === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = form;
  const digits = whole + fraction;
  const scale = fraction.length - Number(exponent) + shift;
  if (digits === '' || digits.length > DIGITS_MAX || Math.abs(scale) > DIGITS_MAX) return null;
  const units = BigInt(digits);
  return normal(sign === '-' ? -units : units, scale);
}

/** The sum. */
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return normal(atScale(a, scale) + atScale(b, scale), scale);
}

/** Whether two amounts are one. */
export function isSame(a: Decimal, b: Decimal): boolean {
  return a.units === b.units && a.scale === b.scale;
}

/** As people write it: `-0.5`, `1200`. */
export function decimalText({ units, scale }: Decimal): string {
  if (scale <= 0) return String(units * 10n ** BigInt(-scale));
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function atScale(value: Decimal, scale: number): bigint {
  return value.units * 10n ** BigInt(scale - value.scale);
}

function normal(units: bigint, scale: number): Decimal {
  if (units === 0n) return ZERO;
  let [whole, left] = [units, scale];
  while (whole % 10n === 0n) {
    whole /= 10n;
    left -= 1;
  }
  return { units: whole, scale: left };
}
