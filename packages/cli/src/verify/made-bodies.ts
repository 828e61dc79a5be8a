/**
 * Bodies made of the user's body: the same request written in another way, and other requests that look like it.
 *
 * Invariant: what cannot be made of a body is null, never a guess.
 */

/** A JSON value. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Reads JSON; undefined if it is none. */
export function jsonOf(body: Uint8Array): Json | undefined {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8')) as Json;
  } catch {
    return undefined;
  }
}

function isMembers(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same JSON with its members in the opposite order and other white space; null if that is no difference. */
export function rewritten(body: Uint8Array): Uint8Array | null {
  const json = jsonOf(body);
  if (!isMembers(json) || Object.keys(json).length < 2) return null;
  return Buffer.from(JSON.stringify(turned(json), null, 3));
}

function turned(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(turned);
  if (!isMembers(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, turned(member)]),
  );
}

/** Another request of the same form: one number more, or one letter; bytes at the end of what is no JSON. */
export function changed(body: Uint8Array): Uint8Array {
  const json = jsonOf(body);
  if (json === undefined) {
    const text = Buffer.from(body).toString('latin1');
    return Buffer.concat([body, Buffer.from(/^[^=&\s]+=/.test(text) ? '&verify=other' : ' other')]);
  }
  const by = (type: 'number' | 'string'): Json | null =>
    changedLeaf(json, (leaf) => {
      if (type === 'number') return typeof leaf === 'number' ? leaf + 1 : null;
      return typeof leaf === 'string' ? `${leaf}x` : null;
    });
  const other = by('number') ?? by('string') ?? (isMembers(json) ? { ...json, verify: 'other' } : [json]);
  return Buffer.from(JSON.stringify(other));
}

/** Another request, which differs only inside a member of a member; null if there is nothing there (F119). */
export function changedInside(body: Uint8Array): Uint8Array | null {
  const json = jsonOf(body);
  if (typeof json !== 'object' || json === null) return null;
  const entries = Object.entries(json);
  for (const [at, [name, member]] of entries.entries()) {
    if (typeof member !== 'object' || member === null) continue;
    const other = changedLeaf(member, (leaf) => {
      if (typeof leaf === 'number') return leaf + 1;
      return typeof leaf === 'string' ? `${leaf}x` : null;
    });
    if (other === null) continue;
    const all = entries.with(at, [name, other]);
    return Buffer.from(
      JSON.stringify(Array.isArray(json) ? all.map(([, one]) => one) : Object.fromEntries(all)),
    );
  }
  return null;
}

/** A copy with the first leaf that `change` changes; null if there is none. */
function changedLeaf(value: Json, change: (leaf: Json) => Json | null): Json | null {
  if (typeof value !== 'object' || value === null) return change(value);
  const entries = Object.entries(value);
  for (const [at, [name, member]] of entries.entries()) {
    const other = changedLeaf(member, change);
    if (other === null) continue;
    const all = entries.with(at, [name, other]);
    return Array.isArray(value) ? all.map(([, one]) => one) : Object.fromEntries(all);
  }
  return null;
}

/** The JSON with a further member, whose value is written exactly so; null if the body is no JSON object. */
export function withMember(body: Uint8Array, name: string, written: string): Uint8Array | null {
  const json = jsonOf(body);
  if (!isMembers(json)) return null;
  const text = JSON.stringify(json);
  const comma = text === '{}' ? '' : ',';
  return Buffer.from(`${text.slice(0, -1)}${comma}${JSON.stringify(name)}:${written}}`);
}

/** The value at a path of names with dots (`charge.id`); undefined if there is none. */
export function valueAt(json: unknown, path: string): unknown {
  let value = json;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value;
}
