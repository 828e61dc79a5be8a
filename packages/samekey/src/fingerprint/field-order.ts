/**
 * The order in which fields of a form are compared: as members of JSON are, without regard to where they stand, except
 * where their place may mean something (F106).
 *
 * Invariants: fields of one name keep their order (`a=1&a=2` is not `a=2&a=1`) · where names say that parsers put
 * several of them into one list, or that they write one place twice, the whole form keeps its order: too fine is a 422,
 * too coarse a mix-up.
 * Sources: qs, PHP and Rack read `a[]`, `a[b]` and `items[][sku]` alike: an object of a list ends where its first
 * member comes again.
 */

/** The fields in the order in which they are compared. */
export function inFieldOrder<Field extends { readonly name: string }>(
  fields: readonly Field[],
): readonly Field[] {
  if (fields.length < 2 || hasOrder(fields)) return fields;
  // Sorting is stable.
  return fields.toSorted(({ name: a }, { name: b }) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Whether a field's place among fields of other names may mean something. */
function hasOrder(fields: readonly { readonly name: string }[]): boolean {
  const names = new Set<string>();
  for (const { name } of fields) names.add(name);
  if (names.size < 2) return true;
  /** Whether what is below a place is a list (`a[]`) or has names (`a[b]`). */
  const isList = new Map<string, boolean>();
  for (const name of names) {
    for (let at = name.search(BELOW); at >= 0; at = nextBelow(name, at + 1)) {
      const place = name.slice(0, at);
      // `a` beside `a[b]`, and `a[]` beside `a[0]`: parsers put both into one list.
      if (names.has(place)) return true;
      const list = name.startsWith('[]', at);
      // `items[][sku]` beside `items[][quantity]`: which of them are one object only their order says.
      if (list && name.length > at + 2) return true;
      if (isList.get(place) === !list) return true;
      isList.set(place, list);
    }
  }
  return false;
}

const BELOW = /[[.]/;

function nextBelow(name: string, from: number): number {
  const next = name.slice(from).search(BELOW);
  return next < 0 ? -1 : from + next;
}
