/**
 * Keeps labels few, whoever names them: an operation, a topic or a caller beyond the bound is `other`. A value that has
 * got a label keeps it, because counters only mean something if they go on.
 */

import { OptionsError } from '../core/errors.ts';
import { hashCaller } from '../store/redact.ts';
import { readOptions, type Row, row, type Table, wholeNumber } from '../core/options.ts';

/** Bounds of labels. */
export interface LabelOptions {
  /** Callers with series of their own; default 20. 0: none. */
  readonly scopesMax?: number;
  /** Operations with series of their own; default 200. */
  readonly operationsMax?: number;
  /** Topics of messages with series of their own; default 100. */
  readonly topicsMax?: number;
  /** Keys the hashes of callers: without it whoever knows a caller's name can find its series. 16 bytes or more. */
  readonly secret?: Uint8Array;
}

/** What makes labels of names. */
export interface Labels {
  operation(name: string): string;
  topic(name: string): string;
  verb(name: string): string;
  code(name: string): string;
  /** Of a record's scope. */
  caller(scope: string): string;
}

/** What has no series of its own. */
const OTHER = 'other';

/** Names that the code of Samekey gives; far below. */
const OWN_NAMES_MAX = 50;
/** Requests by which a caller proves that it is busy. */
const BUSY_MIN = 10;
/** Callers that are watched at once for becoming busy. */
const WATCHED_MAX = 1_000;

/** A secret that keys hashes. */
export const HASH_SECRET_ROW: Row<Uint8Array, undefined> = row((given, path) => {
  if (given instanceof Uint8Array && given.length >= 16) return given;
  throw new OptionsError(`${path} is 16 bytes or more (a Uint8Array): make it longer, or leave it out.`);
});

const LABEL_ROWS = {
  scopesMax: wholeNumber(0, 1_000, 20),
  operationsMax: wholeNumber(0, 10_000, 200),
  topicsMax: wholeNumber(0, 10_000, 100),
  secret: HASH_SECRET_ROW,
} satisfies Table<LabelOptions>;

/** Makes the labels of one set of listeners. Throws `OptionsError`. */
export function createLabels(what: string, options: LabelOptions = {}): Labels {
  const { secret, operationsMax, topicsMax, scopesMax } = readOptions(what, LABEL_ROWS, options);
  return {
    operation: firstOnes(operationsMax),
    topic: firstOnes(topicsMax),
    verb: firstOnes(OWN_NAMES_MAX),
    code: firstOnes(OWN_NAMES_MAX),
    caller: busyOnes(scopesMax, secret),
  };
}

/** The application names these: the first ones are as good as any. */
function firstOnes(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= max) return OTHER;
    known.add(name);
    return name;
  };
}

/**
 * Callers come in any number, so a series has to be earned by requests; those before are counted as `other`. When too
 * many are watched, all begin again: who has a share worth looking at gets there all the same.
 */
function busyOnes(max: number, secret: Uint8Array | undefined): (scope: string) => string {
  const known = new Map<string, string>();
  const watched = new Map<string, number>();
  return (scope) => {
    const end = scope.indexOf('|');
    const caller = end < 0 ? scope : scope.slice(0, end);
    const label = known.get(caller);
    if (label !== undefined) return label;
    if (known.size >= max) return OTHER;
    const seen = (watched.get(caller) ?? 0) + 1;
    if (seen <= BUSY_MIN) {
      if (watched.size >= WATCHED_MAX) watched.clear();
      watched.set(caller, seen);
      return OTHER;
    }
    watched.delete(caller);
    const hash = hashCaller(scope, secret);
    known.set(caller, hash);
    if (known.size >= max) watched.clear();
    return hash;
  };
}
