/**
 * The parts of a Content-Type value that a fingerprint looks at. Source: RFC 9110 §8.3.1 and §5.6.6.
 */

/** A media type, or another value of that form. */
export interface ContentType {
  /** What stands before the parameters, in lower case. */
  readonly essence: string;
  /** By lower-case name, the first of a name. A quoted value is what stands between its quotes, escapes included. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Whether essence and parameters hold all there is: no repeats, nothing left over. */
  readonly isComplete: boolean;
}

const PARAMETER = /;[ \t]*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

/** Reads a Content-Type value, or the value of any field of the same form; without one the essence is empty. */
export function parseContentType(value = ''): ContentType {
  const semicolon = value.indexOf(';');
  if (semicolon < 0) return { essence: essenceOf(value), parameters: NO_PARAMETERS, isComplete: true };
  const parameters = new Map<string, string>();
  let hasRepeats = false;
  const rest = value
    .slice(semicolon)
    .replaceAll(PARAMETER, (_, name: string, quoted?: string, token?: string) => {
      const key = name.toLowerCase();
      if (parameters.has(key)) hasRepeats = true;
      else parameters.set(key, quoted ?? token ?? '');
      return '';
    });
  return {
    essence: essenceOf(value.slice(0, semicolon)),
    parameters,
    isComplete: !hasRepeats && rest.trim() === '',
  };
}

function essenceOf(text: string): string {
  return text.trim().toLowerCase();
}

/** Whether a media type says that the body is JSON: `application/json`, `text/json`, or any `+json`. */
export function isJson(essence: string): boolean {
  return essence === 'application/json' || essence === 'text/json' || /^[^/]+\/.+\+json$/.test(essence);
}
