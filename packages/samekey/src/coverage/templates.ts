/**
 * Where a route stands in an OpenAPI document: frameworks write `/orders/:id`, documents `/orders/{id}`, and names of
 * parameters say nothing about whether both are one place (OpenAPI 3.1.1 §4.8.8).
 */

import { type Json, listOf, objectOf } from './openapi.ts';

/** A path of a framework as documents write it: `:id`, `:id?`, `:id(\d+)`, `:id{[0-9]+}` and `*rest` are `{id}`. */
export function templateOf(path: string): string {
  const template = path
    .replaceAll(/:(\w+)(?:\([^)]*\)|\{[^}]*\})?\??/g, '{$1}')
    .replaceAll(/\{?\/\*(\w*)\}?/g, (_all, name: string) => `/{${name === '' ? 'path' : name}}`);
  return template.length > 1 && template.endsWith('/') ? template.slice(0, -1) : template;
}

/** The path under which a document has a route's operation, of the spellings that its servers allow; null for none. */
export function pathInDocument(document: Json, path: string): string | null {
  const wanted = [...prefixesOf(document)].flatMap((prefix) => {
    const template = templateOf(path);
    return template === prefix || template.startsWith(`${prefix}/`)
      ? [nameless(template.slice(prefix.length) || '/')]
      : [];
  });
  const paths = Object.keys(objectOf(document['paths']));
  return paths.find((each) => wanted.includes(nameless(templateOf(each)))) ?? null;
}

/** Paths of a document stand below the address of its servers. */
function prefixesOf(document: Json): ReadonlySet<string> {
  const urls = listOf(document['servers']).map((server) => String(objectOf(server)['url']));
  const paths = urls.map((url) => /^(?:[a-z][a-z0-9+.-]*:\/\/[^/]*)?(\/[^?#]*)?/i.exec(url)?.[1] ?? '');
  return new Set(['', ...paths.map((path) => path.replace(/\/$/, ''))]);
}

function nameless(template: string): string {
  return template.replaceAll(/\{[^}]*\}/g, '{}');
}
