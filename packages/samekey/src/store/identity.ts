/**
 * Whose a database is (F116). Two services on one database would be given each other's answers, and neither would know:
 * each names itself, the first `migrate()` writes the name down, and a store made for another one is refused at each
 * connection. A database has a name of its own beside it, by which caches tell a copy from what it was copied from.
 *
 * Invariant: nothing is read or written for a service whose name is not the one that stands there.
 */

import { isStoreError, OptionsError, SchemaError, StoreError } from '../core/errors.ts';
import { type Row, readOptions, required, row, shown } from '../core/options.ts';

/** What a database says of itself. */
export interface StoreIdentity {
  /** The service whose keys it holds. */
  readonly service: string;
  /** Made by chance when the tables are; a copy keeps it until it is given one of its own. */
  readonly databaseId: string;
}

/** What `migrate` may be told. */
export interface MigrateRequest {
  /**
   * Gives the database a name of its own, and to this store's service; default false. For a restored copy, before
   * anything is started on it: beside the original it would be answered from the original's cache.
   */
  readonly newIdentity?: boolean;
}

/** Whichever service it is: for tools that look into any database, never for one that takes requests. */
export const ANY_SERVICE = '*';

const NAME = /^[\w.-]{1,48}$/;

/** The option `service` of a store that several processes share. `anyService`: whether {@link ANY_SERVICE} is one. */
export function serviceRow({ anyService }: { readonly anyService: boolean }): Row<string, string> {
  return required(
    row((given, path) => {
      if (typeof given === 'string' && NAME.test(given)) return given;
      if (anyService && given === ANY_SERVICE) return given;
      throw new OptionsError(
        `${path} must be the name of a service: 1 to 48 letters, digits and . _ -; it is ${shown(given)}.`,
      );
    }),
    "service is missing: name the service whose keys the store holds, as service: 'orders'. All its processes pass the same name, and another service needs a database of its own.",
  );
}

/** The service that printed SQL is for. Throws `OptionsError` naming `what` printed it. */
export function printedService(what: string, service: string | undefined): string {
  const { service: name } = readOptions(what, { service: serviceRow({ anyService: false }) }, { service });
  return name;
}

/** What a command that makes tables must be told. */
export function serviceFlag(service: string): string {
  return service === ANY_SERVICE ? '' : ` --service ${service}`;
}

/** What is kept under these names, beside the schema's version. */
export const SERVICE_LABEL = 'service';
export const DATABASE_LABEL = 'database';

/** What the labels say; null where nobody has been written down. */
export function identityOf(labels: ReadonlyMap<string, string | null>): StoreIdentity | null {
  const service = labels.get(SERVICE_LABEL) ?? null;
  const databaseId = labels.get(DATABASE_LABEL) ?? null;
  return service === null || databaseId === null ? null : { service, databaseId };
}

/** The identity, if it is this service's. `place` is what texts call the database. Throws `SchemaError`. */
export function belongsTo(service: string, found: StoreIdentity | null, place: string): StoreIdentity {
  if (found === null) {
    throw new SchemaError(
      `${place} has not been given to a service: run \`await store.migrate()\`, or \`npx samekey migrate --service <name>\` of @samekey/cli.`,
    );
  }
  if (service === ANY_SERVICE || service === found.service) return found;
  throw new SchemaError(
    `${place} belongs to the service "${found.service}", and this store was made for "${service}": each would be given the other's answers. ` +
      'Give each service a database (schema, file, table) of its own; all processes of one service pass the same name. A restored copy is given to ' +
      `another service by \`npx samekey migrate --service ${service} --new-identity\` of @samekey/cli.`,
  );
}

/**
 * Whom a migration by this service must write down; null where it stands already. `anew`: the database gets a name of
 * its own, whoever's it was. Throws `SchemaError` where it is another service's, or nobody is named.
 */
export function ownerToWrite(
  service: string,
  found: StoreIdentity | null,
  anew: boolean,
  place: string,
): string | null {
  if (service === ANY_SERVICE && found === null) {
    throw new SchemaError(
      `${place} has not been given to a service: name the one whose keys it will hold, as service: 'orders', or --service orders.`,
    );
  }
  if (found === null) return service;
  if (!anew) {
    belongsTo(service, found, place);
    return null;
  }
  return service === ANY_SERVICE ? found.service : service;
}

/**
 * What a call of the store fails with by {@link belongsTo}: nothing has been done, and asking again helps once it is
 * mended.
 */
export function refusal(error: unknown): unknown {
  return error instanceof SchemaError
    ? new StoreError(error.message, { applied: 'no', cause: error })
    : error;
}

/** What `ready()` and `migrate()` throw instead: the `SchemaError` behind a call that was refused. */
export async function unwrapping<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isStoreError(error) && error.cause instanceof SchemaError ? error.cause : error;
  }
}
