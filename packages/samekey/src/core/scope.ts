/**
 * The scope: whom a key is unique for (tenant, principal), plus the operation, as one text.
 *
 * Invariants: encoding is injective: different parts, another number of parts, or another operation never give one text
 * (F25, F30); what would be a missing value (`undefined`, an empty text, the text of a missing value: F97) throws and
 * never becomes a scope; the text is printable ASCII of at most 512 bytes without a leading or trailing space, so no
 * store's collation, padding or length rule can make two of them one.
 * Sources: contract §7.2; percent-encoding by RFC 3986 §2.1.
 */
import { OptionsError } from './errors.ts';

/** The longest encoded scope, in bytes. */
export const SCOPE_BYTES_MAX = 512;

// Registered, not local: two copies of this package in one tree must agree on what a single-tenant scope is.
const SINGLE_TENANT: unique symbol = Symbol.for('samekey.singleTenant');

// `*` is escaped in ordinary parts, so no tenant can name itself into this scope.
const SINGLE_TENANT_TEXT = '*';

/** The scope of an application that declares that all its callers are one tenant: keys are unique for all of them. */
export function singleTenant(): readonly string[] {
  return SINGLE;
}

/** Whether this is what `singleTenant()` returned, of whichever copy of this package. */
export function isSingleTenant(scope: unknown): scope is readonly string[] {
  return Array.isArray(scope) && SINGLE_TENANT in scope;
}

const SINGLE: readonly string[] = Object.freeze(
  Object.assign([SINGLE_TENANT_TEXT], { [SINGLE_TENANT]: true as const }),
);

/**
 * The scope as one text: parts joined with `/`, then `|` and the operation unless it is null. Throws
 * {@link OptionsError} for no parts, a part that is not a text, is empty or is the text of a missing value, ill-formed
 * Unicode, an empty operation, or more than 512 bytes.
 */
export function encodeScope(parts: readonly string[], operation: string | null): string {
  const who = isSingleTenant(parts) ? SINGLE_TENANT_TEXT : encodeParts(parts);
  const text = operation === null ? who : `${who}|${encodeOperation(operation)}`;
  if (text.length > SCOPE_BYTES_MAX) {
    throw new OptionsError(
      `The scope takes ${text.length} bytes: at most ${SCOPE_BYTES_MAX} are possible, so use shorter parts or their digest.`,
    );
  }
  return text;
}

/** The caller's part of a record's scope: what stands before the operation. */
export function callerOf(scope: string): string {
  const end = scope.indexOf(OPERATION_MARK);
  return end < 0 ? scope : scope.slice(0, end);
}

/**
 * The first text behind all scopes of a caller with an operation, which begin with `${caller}|`, in the order of bytes.
 */
export function afterCaller(caller: string): string {
  return `${caller}}`;
}

/** Between caller and operation; escaped in both parts of a caller's text. The character behind it is `}`. */
const OPERATION_MARK = '|';

/**
 * The caller's part of a scope, as records have it before the `|`: what `store.erase` and the audit name a caller by.
 * The same parts as the `scope` option gives for a request. Throws as {@link encodeScope} does.
 */
export function callerScope(parts: readonly string[]): string {
  return encodeScope(parts, null);
}

/**
 * All scopes of a caller as ranges of text compared by bytes, each from its first bound up to its second: a scope is
 * printable, so nothing but the text itself lies between it and the text with a space behind it.
 */
export function scopeRanges(caller: string): readonly (readonly [from: string, to: string])[] {
  return [
    [caller, `${caller} `],
    [`${caller}|`, afterCaller(caller)],
  ];
}

/**
 * What a value that is not there, or no text at all, becomes when it is made a text: `String(undefined)`, `${null}`,
 * `String({})`. As a part of a scope it would be shared by all callers without one (F97).
 */
export function isTextOfMissing(text: string): boolean {
  return MISSING_TEXTS.has(text) || (text.startsWith('[object ') && text.endsWith(']'));
}

const MISSING_TEXTS: ReadonlySet<string> = new Set(['undefined', 'null', 'NaN']);

/** What to say of it; `what` is where it was found. */
export function describeTextOfMissing(what: string, text: string): string {
  return `${what} is the text "${text}", which a missing value becomes when it is made a text: all callers without one would share it, so the request is refused. Pass the value itself, without String() or a template. If a caller is really named so, put a prefix before all of them, such as "t:${text}".`;
}

function encodeParts(parts: readonly string[]): string {
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new OptionsError('The scope has no parts: name the tenant and the caller, or use singleTenant().');
  }
  // By index: a sparse array has holes that map would skip.
  let text = '';
  for (let index = 0; index < parts.length; index++) {
    const part: unknown = parts[index];
    if (typeof part !== 'string' || part === '') {
      const found = part === '' ? 'empty' : part === null ? 'null' : `of type ${typeof part}`;
      throw new OptionsError(
        `Part ${index} of the scope is ${found}: every part must be a text, so check where it comes from.`,
      );
    }
    if (isTextOfMissing(part))
      throw new OptionsError(describeTextOfMissing(`Part ${index} of the scope`, part));
    if (index > 0) text += '/';
    text += PLAIN.test(part) ? part : escape(part, UNSAFE, `Part ${index} of the scope`);
  }
  return text;
}

const UNSAFE = /[^!$&'()+,\-.0-9:;<=>?@A-Z[\]^_`a-z{}~]/gu;
/** Nothing to escape, as in most parts; not all that needs none. */
const PLAIN = /^[\w.:@-]+$/;

/** Nothing follows the operation, so only what is not printable, `%` itself and a space at an end are escaped. */
function encodeOperation(operation: unknown): string {
  if (typeof operation !== 'string' || operation === '') {
    throw new OptionsError(
      'The operation of a scope is not a text: give it a name, or null to leave it out.',
    );
  }
  return escape(operation, /[^ -$&-~]|^ | $/gu, 'The operation');
}

function escape(text: string, unsafe: RegExp, what: string): string {
  return text.replaceAll(unsafe, (character) => {
    if (/\p{Surrogate}/u.test(character)) {
      throw new OptionsError(`${what} has half of a surrogate pair: pass well-formed text.`);
    }
    // encodeURIComponent leaves ASCII such as `*` alone, which must not stay here.
    return character.charCodeAt(0) < 0x80 ? percent(character.charCodeAt(0)) : encodeURIComponent(character);
  });
}

function percent(code: number): string {
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
}
