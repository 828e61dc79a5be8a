/**
 * Bytes as they are read: as hexadecimal text that the statement makes. Left to the server, their form hangs on
 * `bytea_output`, which a role, a database or a pooler's other client may have set to `escape`: pg reads either,
 * postgres.js (3.4) takes every byte of the second for none, and an answer would be replayed without its body.
 */

/** The columns of a record that hold bytes. */
export const BYTE_COLUMNS: ReadonlySet<string> = new Set(['input', 'response_body']);

/** A column as it is read. */
export function asHex(column: string): string {
  return `encode(${column}, 'hex')`;
}

/** What {@link asHex} gave. */
function bytesOfHex(value: unknown): Uint8Array | null {
  if (value === null || value === undefined) return null;
  return Buffer.from(value as string, 'hex');
}

/** A row of a record's columns, whose bytes are hexadecimal text, by their names. */
export function fieldsOf(
  names: readonly string[],
  row: readonly unknown[],
  from: number,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [i, name] of names.entries()) {
    const value = row[from + i];
    fields[name] = BYTE_COLUMNS.has(name) ? bytesOfHex(value) : value;
  }
  return fields;
}
