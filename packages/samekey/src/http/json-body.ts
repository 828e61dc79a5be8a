/** Request bodies that are read as JSON: for a schema, and for the input of an operation. */

/** Keeps no state between whole texts. */
const utf8 = new TextDecoder();

/** A body as JSON; undefined for an empty one. */
export function parseJson(body: Uint8Array): { readonly value: unknown } | { readonly fault: unknown } {
  if (body.length === 0) return { value: undefined };
  try {
    return { value: JSON.parse(utf8.decode(body)) as unknown };
  } catch (fault) {
    return { fault };
  }
}
