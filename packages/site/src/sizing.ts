/**
 * From keys a day to rows, bytes, log, flushes, connections and units: the arithmetic of docs/sizing.md. What it counts
 * with was measured; the page says where. What is not measured is not in it.
 */

/** What somebody knows of his service. */
export interface Load {
  readonly keysPerDay: number;
  /** How much busier the busiest second is than the average one. */
  readonly peakFactor: number;
  readonly retentionDays: number;
  /** Bytes of a stored answer, its header lines included. */
  readonly answerBytes: number;
  readonly processes: number;
  /** How long the database's disk takes to flush. */
  readonly flushMs: number;
}

/** What it needs. */
interface Needs {
  readonly keysPerSecond: number;
  readonly keysPerSecondAtPeak: number;
  /** Rows of the table, when what is past its retention is reaped. */
  readonly rows: number;
  /** Of table and indexes, without what vacuum has not given back yet. */
  readonly bytes: number;
  readonly bytesPerRecord: number;
  /** Log (WAL) of claims and ends; reaping adds to it. */
  readonly logBytesPerDay: number;
  /** At most, at peak: two commits a key, and no more than the store's connections can wait for. */
  readonly flushesPerSecondAtPeak: number;
  /** Of the store itself; those of your handlers come on top. */
  readonly connections: number;
  readonly dynamodb: {
    readonly writeUnitsPerSecondAtPeak: number;
    readonly readUnitsPerSecondAtPeak: number;
    readonly writeUnitsPerDay: number;
  };
}

/** docs/internals/postgres.md, "Finding what is due": a key with an answer of 270 bytes. */
const MEASURED = { answerBytes: 270, tableBytes: 917, indexBytes: 105, logBytes: 1_283 };

/** A store of PostgreSQL makes three connections of its own in each process (docs/reference/stores.md). */
const CONNECTIONS_PER_PROCESS = 3;

/** A claim and an end, each of which may be a commit of its own where nothing else is under way. */
const COMMITS_PER_KEY = 2;

/** docs/guides/dynamodb.md, "What it costs": up to 1 KB. Each further KB is one unit more, for the answer's write. */
const UNITS = { write: 5, read: 1, itemBytes: 1_024 };

const DAY_SECONDS = 86_400;

/** The arithmetic. */
export function needsOf(load: Load): Needs {
  const { keysPerDay, peakFactor, retentionDays, answerBytes, processes, flushMs } = load;
  const more = answerBytes - MEASURED.answerBytes;
  const bytesPerRecord = MEASURED.tableBytes + MEASURED.indexBytes + more;
  const keysPerSecond = keysPerDay / DAY_SECONDS;
  const keysPerSecondAtPeak = keysPerSecond * peakFactor;
  const rows = keysPerDay * retentionDays;
  const connections = processes * CONNECTIONS_PER_PROCESS;
  const commitsMax = flushMs > 0 ? (connections * 1_000) / flushMs : Number.POSITIVE_INFINITY;
  // The answer is written once, with the end.
  const furtherKb = Math.max(0, Math.ceil((MEASURED.tableBytes + more) / UNITS.itemBytes) - 1);
  const writeUnits = UNITS.write + furtherKb;
  return {
    keysPerSecond,
    keysPerSecondAtPeak,
    rows,
    bytes: rows * bytesPerRecord,
    bytesPerRecord,
    logBytesPerDay: keysPerDay * (MEASURED.logBytes + more),
    flushesPerSecondAtPeak: Math.min(keysPerSecondAtPeak * COMMITS_PER_KEY, commitsMax),
    connections,
    dynamodb: {
      writeUnitsPerSecondAtPeak: keysPerSecondAtPeak * writeUnits,
      readUnitsPerSecondAtPeak: keysPerSecondAtPeak * UNITS.read,
      writeUnitsPerDay: keysPerDay * writeUnits,
    },
  };
}
