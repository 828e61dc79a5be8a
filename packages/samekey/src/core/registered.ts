/**
 * What all copies of this package in one process share. Two copies are in many real trees (another version, another
 * module format, a bundler): what one of them remembers of a request, the other must find.
 *
 * Invariant: nothing whose form may change between versions is shared this way.
 */

/** The value under this name, made by whichever copy asks first. */
export function registered<Value>(name: string, make: () => Value): Value {
  const home = globalThis as unknown as Record<symbol, Value | undefined>;
  const symbol = Symbol.for(`samekey.${name}`);
  const found = home[symbol];
  if (found !== undefined) return found;
  const value = make();
  Object.defineProperty(globalThis, symbol, { value });
  return value;
}
