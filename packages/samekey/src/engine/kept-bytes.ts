/**
 * How much memory the copies of answers may take that are kept while the answers stream: one budget for all streams of
 * an instance, so that many readers of large answers cannot fill a process.
 */

/** The budget. */
export interface KeptBytes {
  /** Takes room for this many bytes; false if there is not that much left, and then nothing is taken. */
  take(bytes: number): boolean;
  /** Gives back what was taken. */
  free(bytes: number): void;
}

/** Makes a budget of `mostBytes`. */
export function createKeptBytes(mostBytes: number): KeptBytes {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > mostBytes) return false;
      used += bytes;
      return true;
    },
    free(bytes) {
      used -= bytes;
    },
  };
}
