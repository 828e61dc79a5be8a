/**
 * Whose the schema is (`store/identity.ts`): labels beside its version, looked at by each connection that the store
 * opens.
 */

import {
  belongsTo,
  DATABASE_LABEL,
  identityOf,
  refusal,
  SERVICE_LABEL,
  type StoreIdentity,
} from '../../store/identity.ts';
import { type Ask, plain } from './client.ts';
import { errorCodeOf } from './errors.ts';

/** The table that holds the labels, and how texts call what it is in. */
interface IdentityPlace {
  readonly meta: string;
  readonly place: string;
}

/** Reads it; null where nobody has been written down. Fails where there are no tables. */
export async function readIdentity(ask: Ask, meta: string): Promise<StoreIdentity | null> {
  const rows = await ask(plain(`SELECT name, label FROM ${meta} WHERE label IS NOT NULL`), []);
  return identityOf(new Map(rows.map(([name, label]) => [String(name), String(label)])));
}

/**
 * Refuses a connection to another service's tables. Where there are none yet nothing can be mixed up, and `ready()`
 * says so better; a role that may not read whose they are is refused.
 */
export function checkOf({ meta, place }: IdentityPlace, service: string): (ask: Ask) => Promise<unknown> {
  return async (ask) => {
    try {
      belongsTo(service, await readIdentity(ask, meta), place);
    } catch (error) {
      if (!NO_TABLES.has(errorCodeOf(error) ?? '')) throw refusal(error);
    }
  };
}

/** No such table, no such column, no such schema. */
const NO_TABLES: ReadonlySet<string> = new Set(['42P01', '42703', '3F000']);

/** Writes the labels, if nobody has; `anew`: whoever has. */
export function identityStatement(meta: string, service: string, anew: boolean): string {
  // Functions that every engine has which speaks PostgreSQL.
  const databaseId = 'md5(random()::text || clock_timestamp()::text || random()::text)';
  return (
    `INSERT INTO ${meta} (name, value, label) VALUES ('${SERVICE_LABEL}', 0, '${service}'), ('${DATABASE_LABEL}', 0, ${databaseId}) ` +
    `ON CONFLICT (name) DO ${anew ? 'UPDATE SET label = excluded.label' : 'NOTHING'}`
  );
}
