/**
 * Whose the database is (`store/identity.ts`): labels beside its version, looked at by each connection that the store
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
import { decoded, textOf } from './literals.ts';
import type { Ask } from './client.ts';
import { errorNumberOf } from './errors.ts';
import type { Tables } from './tables.ts';

/** How texts call it. */
export const PLACE = 'The MySQL database';

/** Reads it; null where nobody has been written down. Fails where there are no tables. */
export async function readIdentity(ask: Ask, { meta }: Tables): Promise<StoreIdentity | null> {
  const rows = await ask(`SELECT name, label FROM ${meta} WHERE label IS NOT NULL`);
  return identityOf(new Map(rows.map(([name, label]) => [String(decoded(name)), String(decoded(label))])));
}

/**
 * Refuses a connection to another service's tables. Where there are none yet nothing can be mixed up, and `ready()`
 * says so better; a user who may not read whose they are is refused.
 */
export function checkOf(tables: Tables, service: string): (ask: Ask) => Promise<void> {
  return async (ask) => {
    try {
      belongsTo(service, await readIdentity(ask, tables), PLACE);
    } catch (error) {
      if (!isNoTable(error)) throw refusal(error);
    }
  };
}

/** No such table, no such column. */
export function isNoTable(error: unknown): boolean {
  const number = errorNumberOf((error as { cause?: unknown }).cause ?? error);
  return number === 1146 || number === 1054;
}

/** Writes the labels, if nobody has; `anew`: whoever has. */
export function identityStatement({ meta }: Tables, service: string, anew: boolean): string {
  return (
    `INSERT INTO ${meta} (name, value, label) VALUES (${textOf(SERVICE_LABEL)}, 0, ${textOf(service)}), (${textOf(DATABASE_LABEL)}, 0, UUID()) ` +
    `ON DUPLICATE KEY UPDATE label = ${anew ? 'VALUES(label)' : 'label'}`
  );
}
