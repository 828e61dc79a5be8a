/**
 * Percent-encoding made canonical: one spelling for what a URL's parts mean, another for what they do not.
 *
 * Invariants: equivalent spellings become one; different meanings never do. A `%` without two hex digits stays as it
 * is, and no decoding ever completes it to a valid sequence (`%4%31` does not become `%41`). Applying either function
 * twice changes nothing more to a path.
 * Sources: RFC 3986 §2.3 and §6.2.2; WHATWG URL §5.1 (application/x-www-form-urlencoded parsing).
 */

const UNRESERVED = /[A-Za-z0-9._~-]/;
const HEX_DIGIT = /[0-9A-Fa-f]/;

/**
 * A path with unreserved characters decoded (`%7E` is `~`), hex digits in upper case, and all else kept: `%2F` is not
 * `/`. Dot segments are not resolved, for the router that chose the operation has not resolved them either.
 */
export function normalisePath(path: string): string {
  return path.includes('%') ? rewrite(path, false) : path;
}

/**
 * The ordered name–value pairs of a query (without its `?`) or a form: name, value, name, value … each in the one
 * spelling of its decoded form (printable ASCII as it is, the rest as `%XX` of UTF-8; `+` is a space). As the WHATWG
 * parser has it, `a` is `a=` and empty pairs do not count.
 */
export function pairsOf(query: string): string[] {
  const pairs: string[] = [];
  if (query === '') return pairs;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    pairs.push(normaliseField(equals < 0 ? pair : pair.slice(0, equals)));
    pairs.push(equals < 0 ? '' : normaliseField(pair.slice(equals + 1)));
  }
  return pairs;
}

/** The spelling that {@link pairsOf} gives to a name or value whose decoded form is `text`. */
export function fieldOf(text: string): string {
  return normaliseField(text.replaceAll('%', '%25').replaceAll('+', '%2B'));
}

function normaliseField(text: string): string {
  return /[^ !-$&-*,-~]/.test(text) ? rewrite(text, true) : text;
}

/** `field`: decode all printable ASCII but `%`, encode the rest; else decode unreserved characters, keep the rest. */
function rewrite(text: string, field: boolean): string {
  let out = '';
  // How many of the next characters could still complete a `%` that stands alone.
  let open = 0;
  for (let at = 0; at < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const hex = text.slice(at + 1, at + 3);
    if (character === '%' && /^[0-9A-Fa-f]{2}$/.test(hex)) {
      const decoded = String.fromCharCode(Number.parseInt(hex, 16));
      const plain = field ? isPlain(decoded) : UNRESERVED.test(decoded);
      out += plain && !(open > 0 && HEX_DIGIT.test(decoded)) ? decoded : `%${hex.toUpperCase()}`;
      open = 0;
      at += 3;
      continue;
    }
    out += field ? encodeField(character) : character;
    open = character === '%' ? 2 : open > 0 && HEX_DIGIT.test(character) ? open - 1 : 0;
    at += character.length;
  }
  return out;
}

function isPlain(character: string): boolean {
  return character >= ' ' && character <= '~' && character !== '%';
}

function encodeField(character: string): string {
  if (character === '+') return ' ';
  // A `%` that stands alone stays; so does half of a surrogate pair, which UTF-8 cannot hold.
  if (character === '%' || isPlain(character) || /\p{Surrogate}/u.test(character)) return character;
  return encodeURIComponent(character);
}
