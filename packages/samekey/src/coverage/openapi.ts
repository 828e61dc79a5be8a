/**
 * Operations of an OpenAPI 3 document: one is protected if it declares the key's header as a required parameter, or
 * says `x-idempotency: { required: true }`, as `samekey/openapi` writes it; exempt if it says
 * `x-idempotency-exempt: <reason>`. What the document says; whether the server does it is for `samekey verify`, and
 * for `coverage(app, { document })`.
 * Source: OpenAPI 3.1.1 §4.8.9 (Path Item), §4.8.12 (Parameter), §4.8.23 (Reference).
 */

import { CHANGING, type Route, type Routes, type Unseen } from './listed-route.ts';

/** An object of a document. */
export type Json = Readonly<Record<string, unknown>>;

const METHODS: readonly string[] = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** A chain of references longer than this goes round. */
const REFERENCES_MAX = 20;

/** The document, if it is one. */
export function openApiDocument(value: unknown): Json | null {
  const { openapi } = (value ?? {}) as { readonly openapi?: unknown };
  return typeof openapi === 'string' && openapi.startsWith('3.') ? (value as Json) : null;
}

/** Lists them. `header`: the one that carries the key. */
export function openApiRoutes(document: Json, header: string): Routes {
  const routes: Route[] = [];
  const unseen: Unseen[] = [];
  for (const [path, given] of Object.entries(objectOf(document['paths']))) {
    // What stands beside a reference counts as well: which of the two holds is not defined, so both are judged.
    for (const item of [resolved(document, given), besideReference(given)]) {
      if (item === null)
        unseen.push({ where: path, why: 'It stands in another document: bundle them into one.' });
      else addItem(path, item);
    }
  }
  return { routes, unseen };

  function addItem(path: string, item: Json): void {
    for (const method of METHODS) {
      if (item[method] === undefined) continue;
      const operation = objectOf(item[method]);
      const name = method.toUpperCase();
      const parameters = [...listOf(item['parameters']), ...listOf(operation['parameters'])].map((each) =>
        resolved(document, each),
      );
      if (CHANGING.includes(name) && parameters.includes(null)) {
        unseen.push({
          where: `${name} ${path}`,
          why: 'A parameter stands in another document: bundle them into one.',
        });
        continue;
      }
      routes.push(judged(name, path, operation, parameters as readonly Json[], header));
    }
  }
}

/** The members of a path item beside its `$ref`; none where there is no reference. */
function besideReference(given: unknown): Json {
  const { $ref: reference, ...own } = objectOf(given);
  return reference === undefined ? {} : own;
}

function judged(
  method: string,
  path: string,
  operation: Json,
  parameters: readonly Json[],
  header: string,
): Route {
  // A parameter of the operation overrides that of its path.
  const key = parameters.findLast(
    (each) => each['in'] === 'header' && String(each['name']).toLowerCase() === header.toLowerCase(),
  );
  if (key?.['required'] === true || objectOf(operation['x-idempotency'])['required'] === true)
    return { method, path, protectedBy: 'samekey', reason: null };
  const exempt = operation['x-idempotency-exempt'];
  if (typeof exempt === 'string' && exempt.trim() !== '')
    return { method, path, protectedBy: 'exempt', reason: exempt.trim() };
  if (exempt !== undefined)
    return { method, path, protectedBy: null, reason: 'x-idempotency-exempt needs a reason, as text.' };
  const reason = key === undefined ? null : `${header} is declared, but not as required.`;
  return { method, path, protectedBy: null, reason };
}

/** What a value stands for, references of this document followed; null for one that leads elsewhere. */
export function resolved(document: Json, value: unknown): Json | null {
  let found = objectOf(value);
  for (let steps = 0; steps < REFERENCES_MAX; steps += 1) {
    const reference = found['$ref'];
    if (typeof reference !== 'string') return found;
    if (!reference.startsWith('#/')) return null;
    let place: unknown = document;
    for (const part of reference.slice(2).split('/'))
      place = objectOf(place)[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')];
    if (place === undefined) return null;
    found = objectOf(place);
  }
  return null;
}

/** A value that is an object; an empty one for any other. */
export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** A value that is a list; an empty one for any other. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
