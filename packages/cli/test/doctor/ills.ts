/**
 * What can be wrong with an installation, as planted by the tests: each must be found by `samekey doctor`, with its mend (F151). The table
 * in docs/reference/doctor-ills.md is made of this list.
 */

export type Kind = 'sqlite' | 'postgres' | 'mysql';

/** One ill. */
export interface Ill {
  /** In words, for the table. */
  readonly ill: string;
  /** What plants it, for each kind of database that can have it. */
  readonly plant: Partial<Readonly<Record<Kind, readonly string[]>>>;
  /** The check that tells it. */
  readonly check: string;
  /** What the finding and its mend say. */
  readonly said: RegExp;
  /** The role by which the doctor looks; default: the owner. */
  readonly role?: string;
  /** What takes it away again, where it is the server's and not the database's. */
  readonly cure?: readonly string[];
}

const NOW = Date.now();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ALL = ['sqlite', 'postgres', 'mysql'] as const;

/** A row as SQL. Times are given in milliseconds from now, as `['ms', offset]`. */
type Value = string | number | null | boolean | readonly ['ms', number];

function literal(kind: Kind, value: Value): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value))
    return kind === 'postgres' ? `to_timestamp(${(NOW + value[1]) / 1_000})` : String(NOW + value[1]);
  if (typeof value === 'boolean') return kind === 'postgres' ? String(value) : String(Number(value));
  if (typeof value === 'number') return String(value);
  return `'${String(value)}'`;
}

function inserted(kind: Kind, table: string, row: Readonly<Record<string, Value>>): string {
  const names = Object.keys(row).map((name) => (kind === 'mysql' ? `\`${name}\`` : name));
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${Object.values(row)
    .map((value) => literal(kind, value))
    .join(', ')})`;
}

/** A record; what is not given is that of one that ended an hour ago. */
export function record(kind: Kind, key: string, change: Readonly<Record<string, Value>> = {}): string {
  return inserted(kind, 'samekey_records', {
    scope: 'acme',
    key,
    operation: 'POST /payments',
    state: 'completed',
    attempt: 1,
    attempt_max: 10,
    claim_id: `claim-${key}`,
    locked_until: ['ms', -HOUR],
    claim_ttl_ms: 30_000,
    renewals: 0,
    when_claim_ends: 'unknown',
    format_version: 1,
    inquiries: 0,
    created_at: ['ms', -HOUR],
    expires_at: ['ms', DAY],
    replay_min_ms: DAY,
    tombstone_ms: 0,
    ...(kind === 'postgres' ? { reap_after: ['ms', DAY] as const } : {}),
    ...change,
  });
}

/** A message; what is not given is that of one that is due now. */
function message(kind: Kind, id: string, change: Readonly<Record<string, Value>>): string {
  return inserted(kind, 'samekey_messages', {
    id,
    topic: id,
    state: 'ready',
    parked: false,
    due_at: ['ms', 0],
    created_at: ['ms', -HOUR],
    started: 0,
    finished: 0,
    proven: 0,
    forgiven: 0,
    payload: '{}',
    ...change,
  });
}

function each(make: (kind: Kind) => readonly string[], kinds: readonly Kind[] = ALL): Ill['plant'] {
  return Object.fromEntries(kinds.map((kind) => [kind, make(kind)]));
}

function same(kinds: readonly Kind[], ...statements: readonly string[]): Ill['plant'] {
  return each(() => statements, kinds);
}

const BOTH = ['postgres', 'mysql'] as const;

/** Ills of the schema that are told together, all at once. */
export const DRIFT: readonly Ill[] = [
  {
    ill: 'an index was dropped',
    plant: {
      ...same(['sqlite'], 'DROP INDEX samekey_open'),
      ...same(['postgres'], 'DROP INDEX samekey_records_watched'),
      ...same(['mysql'], 'DROP INDEX samekey_due ON samekey_records'),
    },
    check: 'schema',
    said: /index samekey_(open|records_watched|due) is missing.*(CREATE INDEX samekey|ADD KEY samekey)/,
  },
  {
    ill: 'a primary key was dropped',
    plant: {
      ...same(['postgres'], 'ALTER TABLE samekey_counters DROP CONSTRAINT samekey_counters_pkey'),
      ...same(['mysql'], 'ALTER TABLE samekey_counters DROP PRIMARY KEY'),
    },
    check: 'schema',
    said: /primary key of samekey_counters is missing.*ADD PRIMARY KEY/,
  },
  {
    ill: 'a column was dropped',
    plant: same(ALL, 'ALTER TABLE samekey_records DROP COLUMN reason'),
    check: 'schema',
    said: /column samekey_records.reason is missing.*ADD COLUMN reason/,
  },
  {
    ill: 'a column has another type',
    plant: {
      ...same(['postgres'], 'ALTER TABLE samekey_records ALTER attempt TYPE bigint'),
      ...same(['mysql'], 'ALTER TABLE samekey_records MODIFY attempt BIGINT NOT NULL'),
    },
    check: 'schema',
    said: /samekey_records.attempt is of the type .*ALTER TABLE/,
  },
  {
    ill: 'a column may be empty that must not',
    plant: {
      ...same(['postgres'], 'ALTER TABLE samekey_records ALTER operation DROP NOT NULL'),
      ...same(['mysql'], 'ALTER TABLE samekey_records MODIFY format_version INT'),
    },
    check: 'schema',
    said: /samekey_records.(operation|format_version) is NULL, not NOT NULL.*NOT NULL/,
  },
  {
    ill: 'a column lost its default',
    plant: {
      ...same(['postgres'], 'ALTER TABLE samekey_messages ALTER started DROP DEFAULT'),
      ...same(['mysql'], 'ALTER TABLE samekey_records MODIFY inquiries INT NOT NULL'),
    },
    check: 'schema',
    said: /(started|inquiries) has the default nothing, not 0.*DEFAULT 0/,
  },
  {
    ill: 'a column has another collation',
    plant: {
      ...same(['postgres'], 'ALTER TABLE samekey_audit ALTER act TYPE text COLLATE "POSIX"'),
      ...same(
        ['mysql'],
        'ALTER TABLE samekey_audit MODIFY actor VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci',
      ),
    },
    check: 'schema',
    said: /samekey_audit.(act|actor) has the collation .*COLLATE/,
  },
  {
    ill: 'a trigger swallows or changes what is written',
    plant: {
      ...same(
        ['sqlite'],
        'CREATE TRIGGER planted BEFORE UPDATE ON samekey_records BEGIN SELECT RAISE(IGNORE); END',
      ),
      ...same(
        ['postgres'],
        "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        'CREATE TRIGGER planted BEFORE UPDATE ON samekey_records FOR EACH ROW EXECUTE FUNCTION planted()',
      ),
      ...same(
        ['mysql'],
        'CREATE TRIGGER planted BEFORE UPDATE ON samekey_records FOR EACH ROW SET NEW.state = OLD.state',
      ),
    },
    check: 'schema',
    said: /trigger planted on samekey_records.*DROP TRIGGER planted/,
  },
  {
    ill: 'a rule swallows updates',
    plant: same(['postgres'], 'CREATE RULE swallow AS ON UPDATE TO samekey_records DO INSTEAD NOTHING'),
    check: 'schema',
    said: /rule swallow on samekey_records.*DROP RULE swallow/,
  },
  {
    ill: 'a unique index of somebody else refuses rows',
    plant: same(ALL, 'CREATE UNIQUE INDEX theirs ON samekey_records (claim_id, renewals)'),
    check: 'schema',
    said: /unique index theirs on samekey_records is not ours.*DROP INDEX/,
  },
  {
    ill: 'a column of somebody else must be given',
    plant: same(
      ['postgres'],
      'ALTER TABLE samekey_audit ADD COLUMN theirs text',
      'ALTER TABLE samekey_audit ALTER theirs SET NOT NULL',
    ),
    check: 'schema',
    said: /column samekey_audit.theirs is not ours.*DROP COLUMN/,
  },
  {
    ill: 'a constraint refuses rows',
    plant: same(BOTH, 'ALTER TABLE samekey_audit ADD CONSTRAINT planted_check CHECK (attempt < 5)'),
    check: 'schema',
    said: /constraint planted_check on samekey_audit.*DROP CONSTRAINT/,
  },
  {
    ill: 'a foreign key of another table holds records back',
    plant: {
      ...same(
        ['sqlite'],
        'CREATE TABLE invoices (a TEXT, b TEXT, FOREIGN KEY (a, b) REFERENCES samekey_records (scope, key))',
      ),
      ...same(
        ['postgres'],
        'CREATE TABLE invoices (a text, b text, CONSTRAINT held FOREIGN KEY (a, b) REFERENCES samekey_records)',
      ),
    },
    check: 'schema',
    said: /foreign key .*(invoices|held).*(DROP CONSTRAINT|take the foreign key out)/,
  },
];

/** Ills of the schema or its settings that end the look; each in a database of its own. */
export const ENDING: readonly Ill[] = [
  {
    ill: "the server's clock was set back, or was ahead for long",
    plant: same(
      ['postgres', 'mysql'],
      `UPDATE samekey_meta SET value = ${NOW + DAY} WHERE name = 'last_now'`,
    ),
    check: 'clock',
    said: /server's clock is .* behind the time that processes have measured.*time service/,
  },
  {
    ill: "the server's clock is ahead, or nobody sweeps",
    plant: same(
      ['postgres', 'mysql'],
      `UPDATE samekey_meta SET value = ${NOW - DAY} WHERE name = 'last_now'`,
    ),
    check: 'clock',
    said: /server's clock is .* ahead of the time that processes have measured.*time service/,
  },
  {
    ill: 'the tables are of newer code',
    plant: same(ALL, "UPDATE samekey_meta SET value = 99 WHERE name IN ('schema_version', 'min_reader')"),
    check: 'schema',
    said: /version 99.*update samekey/,
  },
  {
    ill: 'a table was dropped',
    plant: same(ALL, 'DROP TABLE samekey_messages'),
    check: 'schema',
    said: /table samekey_messages is missing.*backup/,
  },
  {
    ill: 'the tables are not there',
    plant: same(ALL, 'DROP TABLE samekey_meta'),
    check: 'schema',
    said: /samekey migrate/,
  },
  {
    ill: 'a table is emptied when the server crashes',
    plant: same(['postgres'], 'ALTER TABLE samekey_records SET UNLOGGED'),
    check: 'schema',
    said: /SET LOGGED/,
  },
  {
    ill: 'row security hides rows',
    plant: same(
      ['postgres'],
      'CREATE ROLE clerk LOGIN',
      'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk',
      'ALTER TABLE samekey_records ENABLE ROW LEVEL SECURITY',
    ),
    role: 'clerk',
    check: 'schema',
    said: /DISABLE ROW LEVEL SECURITY/,
  },
  {
    ill: 'the role may not use a table as the application must',
    plant: {
      ...same(
        ['postgres'],
        'CREATE ROLE reader LOGIN',
        'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader',
      ),
      ...same(
        ['mysql'],
        "CREATE USER reader@'%' IDENTIFIED BY 'reader'",
        "GRANT SELECT ON *.* TO reader@'%'",
      ),
    },
    role: 'reader',
    check: 'schema',
    said: /may not use .*GRANT SELECT/,
    cure: ["DROP USER reader@'%'"],
  },
  {
    ill: 'a publication has a table whose rows have no identity',
    plant: same(
      ['postgres'],
      'ALTER TABLE samekey_records REPLICA IDENTITY NOTHING',
      'CREATE PUBLICATION p FOR TABLE samekey_records',
    ),
    check: 'schema',
    said: /REPLICA IDENTITY DEFAULT/,
  },
  {
    ill: 'the role or the server is read-only',
    plant: {
      ...same(['postgres'], 'ALTER DATABASE current SET default_transaction_read_only = on'),
      ...same(['mysql'], 'SET GLOBAL read_only = ON'),
    },
    check: 'schema',
    said: /read-only/,
    cure: ['SET GLOBAL read_only = OFF'],
  },
  {
    ill: 'a table is kept by an engine that forgets',
    plant: same(['mysql'], 'ALTER TABLE samekey_groups ENGINE = MyISAM'),
    check: 'schema',
    said: /ENGINE = InnoDB/,
  },
  {
    ill: 'commits are not flushed',
    plant: same(['mysql'], 'SET GLOBAL innodb_flush_log_at_trx_commit = 2'),
    check: 'schema',
    said: /innodb_flush_log_at_trx_commit/,
    cure: ['SET GLOBAL innodb_flush_log_at_trx_commit = 1'],
  },
];

/** Ills of settings and sessions, all at once. `current` stands for the database's name. */
export const SETTINGS: readonly Ill[] = [
  {
    ill: 'statements are ended by a short time-out',
    plant: {
      ...same(['postgres'], "ALTER DATABASE current SET statement_timeout = '500ms'"),
      ...same(['mysql'], 'SET GLOBAL max_statement_time = 0.5'),
    },
    check: 'sessions',
    said: /(statement_timeout|max_statement_time) is 500 ms.*= 0/,
    cure: ['SET GLOBAL max_statement_time = 0'],
  },
  {
    ill: 'lock waits are ended by a short time-out',
    plant: same(['postgres'], "ALTER DATABASE current SET lock_timeout = '5ms'"),
    check: 'sessions',
    said: /lock_timeout is 5 ms.*= 0/,
  },
  {
    ill: 'transactions of the application are ended while they think',
    plant: same(['postgres'], "ALTER DATABASE current SET idle_in_transaction_session_timeout = '900ms'"),
    check: 'sessions',
    said: /idle_in_transaction_session_timeout is 900 ms/,
  },
  {
    ill: 'triggers do not fire',
    plant: same(['postgres'], 'ALTER DATABASE current SET session_replication_role = replica'),
    check: 'sessions',
    said: /session_replication_role.*RESET/,
  },
  {
    ill: 'the server does not count rows, so that it never vacuums',
    plant: same(['postgres'], 'ALTER DATABASE current SET track_counts = off'),
    check: 'sessions',
    said: /track_counts is off/,
  },
  {
    ill: 'a table is never vacuumed',
    plant: same(['postgres'], 'ALTER TABLE samekey_records SET (autovacuum_enabled = false)'),
    check: 'sessions',
    said: /switched off for samekey_records.*RESET/,
  },
  {
    ill: 'commits of the application are not waited for',
    plant: same(['postgres'], 'ALTER DATABASE current SET synchronous_commit = off'),
    check: 'durability',
    said: /synchronous_commit is off.*= on/,
  },
  {
    ill: 'transactions see what is not committed',
    plant: same(['mysql'], 'SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'),
    check: 'durability',
    said: /READ-UNCOMMITTED/,
    cure: ['SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ'],
  },
  {
    ill: 'the server closes connections between two requests',
    plant: same(['mysql'], 'SET GLOBAL wait_timeout = 5'),
    check: 'sessions',
    said: /wait_timeout is 5 s.*28800/,
    cure: ['SET GLOBAL wait_timeout = 28800'],
  },
  {
    ill: 'transactions wait for each other for an hour',
    plant: same(['mysql'], 'SET GLOBAL innodb_lock_wait_timeout = 3600'),
    check: 'sessions',
    said: /innodb_lock_wait_timeout is 3600 s/,
    cure: ['SET GLOBAL innodb_lock_wait_timeout = 50'],
  },
  {
    ill: 'a COMMIT begins the next transaction',
    plant: same(['mysql'], 'SET GLOBAL completion_type = CHAIN'),
    check: '',
    said: /completion_type/,
    cure: ['SET GLOBAL completion_type = NO_CHAIN'],
  },
  {
    ill: 'a replication slot has no reader',
    plant: same(['postgres'], "SELECT pg_create_physical_replication_slot('planted_slot', true)"),
    check: 'sessions',
    said: /slot planted_slot.*pg_drop_replication_slot/,
  },
  {
    ill: 'a prepared transaction was forgotten',
    plant: same(
      ['postgres'],
      'BEGIN',
      'CREATE TABLE planted_prepared (a int)',
      "PREPARE TRANSACTION 'planted'",
    ),
    check: 'sessions',
    said: /prepared transaction waits.*ROLLBACK PREPARED 'planted'/,
  },
  {
    ill: 'a transaction was left open',
    plant: same(BOTH, 'BEGIN', 'SELECT COUNT(*) FROM samekey_audit'),
    check: 'sessions',
    said: /open for more than.*(pg_terminate_backend\(\d+\)|KILL \d+)/,
  },
];

/** What stands before the old rows: newer ones, more than one look at the newest would reach. */
export function newer(kind: Kind): readonly string[] {
  const rows = (state: string, change: Readonly<Record<string, Value>>): readonly string[] =>
    Array.from({ length: 510 }, (_, i) =>
      record(kind, crypto.randomUUID(), { state, created_at: ['ms', -1_000 - i], ...change }),
    );
  return [
    ...rows('in_progress', { locked_until: ['ms', 29_000] }),
    ...rows('pending', { attempt: 0, locked_until: ['ms', HOUR] }),
  ];
}

/** Ills of rows, all at once in one database, behind the newer ones. */
export const ROWS: readonly Ill[] = [
  {
    ill: 'a claim is over, behind 510 newer ones: no sweeper runs',
    plant: each((kind) => [record(kind, 'over', { state: 'in_progress', created_at: ['ms', -2 * HOUR] })]),
    check: 'claims',
    said: /1 claim is over.*samekey janitor/,
  },
  {
    ill: 'a claim ends days from now: a clock ran ahead',
    plant: each((kind) => [record(kind, 'far', { state: 'in_progress', locked_until: ['ms', 3 * DAY] })]),
    check: 'claims',
    said: /1 claim ends more than a day from now.*clocks/,
  },
  {
    ill: 'accepted work was never begun, behind 510 newer ones: no worker runs',
    plant: each((kind) => [
      record(kind, 'waiting', {
        state: 'pending',
        attempt: 0,
        operation: 'report',
        locked_until: ['ms', HOUR],
      }),
    ]),
    check: 'pending',
    said: /1 accepted request has not been begun.*report.*samekey worker/,
  },
  {
    ill: 'the message that should end a request was deleted',
    plant: each((kind) => [
      record(kind, 'handed', {
        state: 'pending',
        attempt: 1,
        operation: 'transfer',
        locked_until: ['ms', HOUR],
      }),
    ]),
    check: 'pending',
    said: /1 request was handed over to messages that are gone.*transfer.*backup/,
  },
  {
    ill: 'an outcome has been unknown for hours',
    plant: each((kind) => [
      record(kind, 'unknown', {
        state: 'unknown',
        locked_until: ['ms', -5 * HOUR],
        reconcile_after: ['ms', -HOUR],
      }),
    ]),
    check: 'unknown',
    said: /unknown, the oldest for 5 h.*reconciler/,
  },
  {
    ill: 'the reconciler has given an outcome up',
    plant: each((kind) => [
      record(kind, 'given-up', { state: 'unknown', reconcile_after: ['ms', 9_000 * DAY] }),
    ]),
    check: 'unknown',
    said: /1 of them were given up by the reconciler/,
  },
  {
    ill: 'a key is near its last attempt',
    plant: each((kind) => [record(kind, 'tired', { state: 'retryable', attempt: 9 })]),
    check: 'attempts',
    said: /1 key has used 8 attempts or more.*inspect/,
  },
  {
    ill: 'an operation has stopped at a call, and nobody goes on: no completer runs',
    plant: each((kind) => [record(kind, 'stopped', { state: 'retryable', intent_at: ['ms', -2 * HOUR] })]),
    check: 'attempts',
    said: /1 operation has stopped at a call.*samekey worker/,
  },
  {
    ill: 'a record is in a state that nobody knows',
    plant: each((kind) => [record(kind, 'strange', { state: 'paused' })]),
    check: 'attempts',
    said: /1 records are in states that this version does not know/,
  },
  {
    ill: 'overdue messages behind one that is delayed',
    plant: each((kind) => [
      message(kind, 'delayed', { topic: 'mail', due_at: ['ms', DAY] }),
      ...[1, 2, 3].map((n) => message(kind, `overdue-${n}`, { topic: 'mail', due_at: ['ms', -HOUR] })),
    ]),
    check: 'messages',
    said: /3 messages of the topic "mail" wait, the first for 60 min.*handler of "mail"/,
  },
  {
    ill: "a dead worker's lease",
    plant: each((kind) => [
      message(kind, 'held', { state: 'leased', lease_id: 'l', due_at: ['ms', -HOUR], started: 1 }),
    ]),
    check: 'messages',
    said: /1 message of the topic "held" are held by a worker that died.*samekey worker/,
  },
  {
    ill: 'a message was given up',
    plant: each((kind) => [message(kind, 'dead', { state: 'dead', started: 20, finished: 20 })]),
    check: 'messages',
    said: /1 messages were given up \(dead: 1\).*samekey requeue/,
  },
  {
    ill: 'a message takes its workers down',
    plant: each((kind) => [message(kind, 'deadly', { started: 5, finished: 1 })]),
    check: 'messages',
    said: /topic "deadly" were begun 3 times or more without an end/,
  },
  {
    ill: 'a message waits behind one of its group that is gone',
    plant: each((kind) => [message(kind, 'stranded', { parked: true, group_key: 'g' })]),
    check: 'messages',
    said: /topic "stranded" wait behind a message of their group that is not there/,
  },
  {
    ill: 'a message of a request whose record is gone',
    plant: each((kind) => [
      message(kind, 'orphan', { scope: 'acme', key: 'nowhere', claim_id: 'c', attempt: 1 }),
    ]),
    check: 'messages',
    said: /topic "orphan" were handed over by a request whose record is not there/,
  },
  {
    ill: 'rows of a time to come: a clock ran ahead',
    plant: each((kind) => [record(kind, 'future', { created_at: ['ms', HOUR] })]),
    check: 'tables',
    said: /1 rows of samekey_records were written by a clock.*clocks/,
  },
  {
    ill: 'messages of a time to come',
    plant: each((kind) => [message(kind, 'tomorrow', { created_at: ['ms', DAY], due_at: ['ms', DAY] })]),
    check: 'tables',
    said: /1 rows of samekey_messages were written by a clock/,
  },
  {
    ill: 'what expired is not deleted: no janitor runs',
    plant: each((kind) => [
      record(kind, 'expired', {
        created_at: ['ms', -3 * DAY],
        expires_at: ['ms', -DAY],
        ...(kind === 'postgres' ? { reap_after: ['ms', -DAY] as const } : {}),
      }),
    ]),
    check: 'reaper',
    said: /Expired records are not deleted.*samekey janitor/,
  },
  {
    ill: 'newer code has written records that older code cannot read',
    plant: each((kind) => [record(kind, 'newer', { format_version: 99, created_at: ['ms', -10] })]),
    check: 'versions',
    said: /written by newer code.*writeVersion/,
  },
  {
    ill: 'one process seals and another does not',
    plant: each((kind) => {
      const body = kind === 'postgres' ? "'\\x6162'" : "X'6162'";
      const withBody = (key: string, at: number, seal: string | null): string =>
        record(kind, key, {
          response_status: 200,
          response_headers: '[]',
          seal_key_id: seal,
          created_at: ['ms', at],
        })
          .replace(/\)( VALUES)/, kind === 'mysql' ? ', `response_body`)$1' : ', response_body)$1')
          .replace(/\)$/, `, ${body})`);
      return [withBody('sealed', -900, 'k1'), withBody('clear', -800, null)];
    }),
    check: 'seals',
    said: /1 records hold content in clear.*sealedStore/,
  },
  {
    ill: 'keys are remembered for less time than clients need',
    plant: each((kind) => [
      record(kind, 'short', { operation: 'brief', created_at: ['ms', -100], expires_at: ['ms', HOUR] }),
    ]),
    check: 'retention',
    said: /brief: keys are remembered for 60 min.*retentionMs/,
  },
  {
    ill: 'keys are counted up',
    plant: each((kind) =>
      Array.from({ length: 12 }, (_, i) =>
        record(kind, `order-${i + 100}`, { operation: 'orders', created_at: ['ms', -300 - i] }),
      ),
    ),
    check: 'keys',
    said: /keys are counted up.*orders.*random key/,
  },
  {
    ill: 'claims are shorter than handlers take',
    plant: each((kind) =>
      Array.from({ length: 25 }, () =>
        record(kind, crypto.randomUUID(), {
          operation: 'slow',
          claim_ttl_ms: 5_000,
          created_at: ['ms', -30_000],
          finished_at: ['ms', -20_000],
        }),
      ),
    ),
    check: 'claim-ttl',
    said: /slow: 99 % end within 10 s.*claimTtlMs/,
  },
  {
    ill: "the counts of a caller's keys are wrong",
    plant: each((kind) => [inserted(kind, 'samekey_counters', { scope: 'acme', shard: 0, count: -3 })]),
    check: 'tables',
    said: /counts of 1 callers are below zero.*DELETE FROM samekey_counters/,
  },
  {
    ill: 'a row of samekey_meta is missing',
    plant: {
      ...same(['sqlite'], "DELETE FROM samekey_meta WHERE name = 'last_now'"),
      ...same(['postgres'], "DELETE FROM samekey_meta WHERE name = 'messages_listened_until'"),
      ...same(['mysql'], "DELETE FROM samekey_meta WHERE name = 'last_now'"),
    },
    check: 'tables',
    said: /samekey_meta lacks the rows .*INSERT INTO samekey_meta/,
  },
  {
    ill: "the sweeper's mark is in the time to come",
    plant: same(['postgres'], `UPDATE samekey_meta SET value = ${NOW + DAY} WHERE name = 'swept_to'`),
    check: 'tables',
    said: /sweeper's mark is .* from now.*UPDATE samekey_meta/,
  },
  {
    ill: 'rows of samekey_groups are missing',
    plant: same(['mysql'], 'DELETE FROM samekey_groups WHERE slot < 10'),
    check: 'tables',
    said: /samekey_groups has 4086 of 4096 rows.*INSERT/,
  },
  {
    ill: 'a table is bloated: vacuum does not keep up',
    plant: same(
      ['postgres'],
      'ALTER TABLE samekey_messages SET (autovacuum_enabled = false)',
      "INSERT INTO samekey_messages (id, topic, due_at, created_at, payload) SELECT 'bloat-' || n, 'bloat', now(), now(), '' FROM generate_series(1, 21000) n",
      "DELETE FROM samekey_messages WHERE topic = 'bloat'",
      'SELECT pg_stat_force_next_flush()',
    ),
    check: 'growth',
    said: /samekey_messages: .* dead ones: vacuum does not keep up.*VACUUM samekey_messages/,
  },
];

/** All, in the order of the table. */
export const ILLS: readonly Ill[] = [...DRIFT, ...ENDING, ...SETTINGS, ...ROWS];
