/**
 * The canonical text of a JSON number, exact: equal for equal values, different for different ones.
 *
 * Form: optional `-`, the digits without leading and trailing zeros, then `e` and the exponent of ten unless it is 0.
 * So `1`, `1.0`, `1e0` and `100e-2` are `1`; `-0` is `0`; 9007199254740993 stays apart from …992 (F29). Nothing is ever
 * expanded: `1e999999999` is `1e999999999`. Time and memory are linear in the text, whatever digits it has: no BigInt.
 * Sources: RFC 8259 §6 (the grammar sets no limit on range or precision); contract §7.5 (where RFC 8785 rounds, we do
 * not).
 */

const ZERO = 0x30;
/** Digits that a double holds exactly, with room for a carry. */
const LIMB_DIGITS = 15;
const LIMB = 1e15;

/** The canonical text of `[-]integer[.fraction][e exponent]`, given as digit texts; `exponent` may have a sign. */
export function canonicalNumber(
  negative: boolean,
  integer: string,
  fraction: string,
  exponent: string,
): string {
  const digits = integer + fraction;
  let start = 0;
  while (digits.charCodeAt(start) === ZERO) start++;
  if (start === digits.length) return '0';
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end--;
  const power = addToDecimal(exponent, digits.length - end - fraction.length);
  const significand = digits.slice(start, end);
  return `${negative ? '-' : ''}${significand}${power === '0' ? '' : `e${power}`}`;
}

/**
 * `decimal + addend` as canonical decimal text; the decimal may have thousands of digits, the addend is a small
 * integer.
 */
function addToDecimal(decimal: string, addend: number): string {
  const negative = decimal.startsWith('-');
  let start = negative || decimal.startsWith('+') ? 1 : 0;
  while (decimal.charCodeAt(start) === ZERO) start++;
  const magnitude = decimal.slice(start);
  if (magnitude.length <= LIMB_DIGITS) return String(Number(magnitude) * (negative ? -1 : 1) + addend);
  const head = magnitude.slice(0, -LIMB_DIGITS);
  const limb = Number(magnitude.slice(-LIMB_DIGITS)) + (negative ? -addend : addend);
  const carry = limb < 0 ? -1 : limb >= LIMB ? 1 : 0;
  const low = String(limb - carry * LIMB).padStart(LIMB_DIGITS, '0');
  const text = `${carry === 0 ? head : step(head, carry)}${low}`;
  return (negative ? '-' : '') + text.slice(leadingZeros(text));
}

/** A positive decimal text plus or minus one; may leave a leading zero. */
function step(digits: string, by: 1 | -1): string {
  const [stop, wrap] = by === 1 ? [0x39, '0'] : [ZERO, '9'];
  let at = digits.length - 1;
  while (digits.charCodeAt(at) === stop) at--;
  const bumped = at < 0 ? '1' : String(digits.charCodeAt(at) - ZERO + by);
  return digits.slice(0, Math.max(at, 0)) + bumped + wrap.repeat(digits.length - 1 - at);
}

function leadingZeros(text: string): number {
  let count = 0;
  while (text.charCodeAt(count) === ZERO) count++;
  return count;
}
