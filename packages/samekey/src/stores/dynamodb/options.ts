/** The DynamoDB store's options, checked before anything is done with the client. */

import { serviceRow } from '../../store/identity.ts';
import {
  aFunction,
  having,
  readOptions,
  required,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from '../../core/options.ts';
import type { BodyStore } from './bodies.ts';
import type { DynamoDbClient } from './client.ts';

/** Options of `dynamodbStore`. */
export interface DynamoDbStoreOptions {
  /**
   * The service whose keys the store holds, such as `orders`: 1 to 48 letters, digits and . _ -. All its processes pass
   * the same name. The first of them writes it into the table, and a store made for another service is refused there.
   */
  readonly service: string;
  /** An open client: `new DynamoDB({ … })` of `@aws-sdk/client-dynamodb`. */
  readonly client: DynamoDbClient;
  /** The table's name. */
  readonly tableName: string;
  /**
   * Where answers and inputs go that no item can hold (400 KB). Default none: larger answers are stored without their
   * bodies.
   */
  readonly bodies?: BodyStore;
  /** Longest wait for one call, in milliseconds; default 2000. */
  readonly callTimeMaxMs?: number;
  /** Calls at once; default 16. */
  readonly callsAtOnceMax?: number;
  /**
   * Whether the table's TTL deletes final records, which `ready()` then wants on; default true. False: the reaper does,
   * at one write to an index more for each end of an attempt. In every process; records keep what they were written
   * with.
   */
  readonly timeToLive?: boolean;
  /**
   * Whether you see to it that each caller's keys are used in one region only; default false. `ready()` refuses a
   * global table without, because its regions do not see each other's claims in time.
   */
  readonly oneWriterRegion?: boolean;
  /**
   * Whether the server has `TransactWriteItems`; default true. False for stand-ins that have not (dynalite): then the
   * store has no `within`, and the transactional way is refused at start.
   */
  readonly transactions?: boolean;
  /** Whether each change of a record's state leaves a row in the audit; default false. In every process. */
  readonly auditTransitions?: boolean;
  /** Test-only wall clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
  /** Test-only monotonic clock, in milliseconds; default `performance.now`. */
  readonly monotonicNow?: () => number;
  /** Test-only randomness for jitter, in [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** The options with their defaults filled in. */
interface CheckedOptions extends Required<Omit<DynamoDbStoreOptions, 'bodies'>> {
  readonly bodies: BodyStore | undefined;
}

const ROWS = {
  service: serviceRow({ anyService: false }),
  client: required(
    having<DynamoDbClient>(
      ['putItem', 'query'],
      'a `DynamoDB` of @aws-sdk/client-dynamodb, which has a method for each operation (a bare DynamoDBClient has `send` only)',
    ),
  ),
  tableName: required(text(), 'tableName must be the name of a table.'),
  bodies: having<BodyStore>(
    ['put', 'get', 'delete'],
    'a store of bodies with put, get and delete: s3Bodies, fileBodies',
  ),
  callTimeMaxMs: wholeNumber(1, 600_000, 2_000),
  callsAtOnceMax: wholeNumber(1, 1_000, 16),
  timeToLive: trueOrFalse(true),
  oneWriterRegion: trueOrFalse(false),
  transactions: trueOrFalse(true),
  auditTransitions: trueOrFalse(false),
  now: aFunction<() => number>(),
  monotonicNow: aFunction<() => number>(),
  random: aFunction<() => number>(),
} satisfies Table<DynamoDbStoreOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: DynamoDbStoreOptions): CheckedOptions {
  const own = readOptions('dynamodbStore', ROWS, options);
  return {
    ...own,
    now: own.now ?? Date.now,
    monotonicNow: own.monotonicNow ?? (() => performance.now()),
    random: own.random ?? Math.random,
  };
}
