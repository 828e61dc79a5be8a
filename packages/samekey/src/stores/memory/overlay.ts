/**
 * What a transaction has read and written of one map, laid over it: reads are repeatable, and show its own writes.
 *
 * Invariant: values are never changed in place, so whoever has written since is found by identity.
 */

/** One transaction's view of a map. */
export interface Overlay<Value extends object> {
  get(key: string): Value | undefined;
  /** Null deletes. */
  set(key: string, value: Value | null): void;
  /** Whether somebody else has changed what was read or written here. */
  isStale(): boolean;
  /** What is to be written in the end. */
  writes(): Iterable<readonly [key: string, value: Value | null]>;
}

/** Makes it. */
export function createOverlay<Value extends object>(base: ReadonlyMap<string, Value>): Overlay<Value> {
  const seen = new Map<string, Value | undefined>();
  const written = new Map<string, Value | null>();

  function see(key: string): Value | undefined {
    if (!seen.has(key)) seen.set(key, base.get(key));
    return seen.get(key);
  }

  return {
    get(key) {
      const own = written.get(key);
      return own === undefined ? see(key) : (own ?? undefined);
    },
    set(key, value) {
      // Written without a look is written over what stood there now.
      see(key);
      written.set(key, value);
    },
    isStale: () => [...seen].some(([key, value]) => base.get(key) !== value),
    writes: () => written,
  };
}
