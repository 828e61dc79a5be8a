/** Request bodies that are read as JSON: for a schema, and for the input of an operation. */

/** A body as JSON; undefined for an empty one. */
export function parseJson(body: Uint8Array): { readonly value: unknown } | { readonly fault: unknown } {
  if (body.length === 0) return { value: undefined };
  try {
    return { value: JSON.parse(new TextDecoder().decode(body)) as unknown };
  } catch (fault) {
    return { fault };
  }
}
