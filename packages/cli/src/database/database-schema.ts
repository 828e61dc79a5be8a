/**
 * What each kind of database says of its tables, and what may be asked of them. The kinds are written against this;
 * which of them is opened, `open-schema` decides.
 */

/** An operator looks into the database that is named, whosever it is. */
export const ANY_SERVICE = '*';

/** Whose the tables are, and what their database is called. */
interface Identity {
  readonly service: string;
  readonly databaseId: string;
}

/** How far the tables are. */
export interface SchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this command brings it to. */
  readonly needed: number;
  /** What is still to be done, by name. */
  readonly missing: readonly string[];
}

/** The tables of one open database. Expected failures are thrown as `SchemaError`, `StoreError` or `CliError`. */
export interface DatabaseSchema {
  status(): Promise<SchemaStatus>;
  /**
   * `newIdentity`: they become those of the service that was named, whoever's they were, in a database with a name of
   * its own.
   */
  migrate(request: { readonly newIdentity: boolean }): Promise<void>;
  /** Fails where there are no tables. */
  identity(): Promise<Identity>;
  /** Throws when an application could not start on it, and says what mends it. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** What is asked for: `service` of all, `auditTransitions` of PostgreSQL and MySQL, the rest of PostgreSQL only. */
export interface SchemaChoices {
  /** Whose they are to be; undefined: whoever's they are. */
  readonly service: string | undefined;
  /** The schema; undefined is its default. */
  readonly schema: string | undefined;
  /** Whether triggers audit transitions; undefined leaves them as they are. */
  readonly auditTransitions: boolean | undefined;
  /** Another engine that speaks PostgreSQL: the tables are those of `distributedPostgresStore`. */
  readonly engine: string | undefined;
  /** In how many partitions the table of records is made; undefined: in none. */
  readonly partitions: number | undefined;
}

/**
 * A store to look by, which takes whosever tables it finds, and one of the service that was named, to change them and
 * to check.
 */
export function schemaOf(lookBy: DatabaseSchema, named: DatabaseSchema): DatabaseSchema {
  return {
    status: () => lookBy.status(),
    identity: () => lookBy.identity(),
    migrate: (request) => named.migrate(request),
    ready: () => named.ready(),
    async close() {
      await Promise.all([lookBy.close(), named.close()]);
    },
  };
}

/**
 * What a kind of database is asked: its tables, and the SQL that makes them. A module each, loaded with its driver when
 * it is needed.
 */
export interface SchemaKind {
  /** Opens nothing before it is asked. */
  open(place: string, choices: SchemaChoices): DatabaseSchema;
  /** The migrations after version `from`; empty if there are none. */
  sql(choices: SchemaChoices, from: number): string;
}
