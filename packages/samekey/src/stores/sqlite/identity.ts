/** Whose the file is (`store/identity.ts`): labels beside its version. */

import {
  belongsTo,
  DATABASE_LABEL,
  identityOf,
  refusal,
  SERVICE_LABEL,
  type StoreIdentity,
} from '../../store/identity.ts';
import type { Connection } from './client.ts';
import type { Writer } from './writer.ts';

/** How texts call the file. */
export const PLACE = 'The SQLite database';

/** Whose it is; null where nobody has been written down. */
export function readIdentity(connection: Connection): StoreIdentity | null {
  const rows = connection.all('SELECT name, label FROM samekey_meta WHERE label IS NOT NULL');
  return identityOf(new Map(rows.map((row) => [String(row['name']), String(row['label'])])));
}

/**
 * The door for everything but migrations and `ready()`: nothing goes through while the file is another service's. Found
 * to be this one's it stays so: a file does not change hands while it is open. Where there are no tables yet nothing
 * can be mixed up, and `ready()` says so better.
 */
export function gated(door: Writer, connection: Connection, service: string): Writer {
  let isOurs = false;
  function check(): void {
    if (isOurs || connection.get(FIND_META) === undefined) return;
    try {
      belongsTo(service, readIdentity(connection), PLACE);
    } catch (error) {
      throw refusal(error);
    }
    isOurs = true;
  }
  const checked =
    <T>(body: () => T) =>
    (): T => {
      check();
      return body();
    };
  return {
    ...door,
    read: (body) => door.read(checked(body)),
    write: (body, waitMaxMs) => door.write(checked(body), waitMaxMs),
    transaction: (body, ended) => door.transaction(checked(body), ended),
  };
}

const FIND_META = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'samekey_meta'`;

/** Writes the labels, if nobody has; `anew`: whoever has. */
export function identityStatement(service: string, anew: boolean): string {
  return (
    `INSERT INTO samekey_meta (name, value, label) VALUES ('${SERVICE_LABEL}', 0, '${service}'), ('${DATABASE_LABEL}', 0, lower(hex(randomblob(16)))) ` +
    `ON CONFLICT (name) DO ${anew ? 'UPDATE SET label = excluded.label' : 'NOTHING'}`
  );
}
