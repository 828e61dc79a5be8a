/** Where an application and its OpenAPI document say different things of one route. */

import type { Door } from '../http/marker.ts';
import { CHANGING, MARK, type Route } from './listed-route.ts';
import { type Json, openApiRoutes } from './openapi.ts';
import { pathInDocument } from './templates.ts';

/** A route of which application and document say different things. */
export interface Disagreement {
  readonly method: string;
  /** As the report spells it; of what stands in the document alone, as that does. */
  readonly path: string;
  readonly why: string;
}

/** Compares them. `header`: the one that carries keys where a route does not tell. */
export function disagreements(
  routes: readonly Route[],
  document: Json,
  header: string,
): readonly Disagreement[] {
  const found: Disagreement[] = [];
  const met = new Set<string>();
  for (const route of routes) {
    const path = pathInDocument(document, route.path);
    if (path === null) continue;
    const of = openApiRoutes(document, headerOf(route) ?? header).routes;
    const documented = of.find((each) => each.path === path && each.method === route.method);
    if (documented === undefined) continue;
    met.add(`${route.method} ${path}`);
    const why = disagreement(route, documented);
    if (why !== null) found.push({ method: route.method, path: route.path, why });
  }
  for (const { method, path, protectedBy } of openApiRoutes(document, header).routes) {
    if (protectedBy !== 'samekey' || !CHANGING.includes(method) || met.has(`${method} ${path}`)) continue;
    found.push({
      method,
      path,
      why: 'The document says that it needs a key; the application has no such route.',
    });
  }
  return found;
}

function disagreement(route: Route, { protectedBy, reason }: Route): string | null {
  const needs = route[MARK]?.required ?? false;
  if (route.protectedBy !== 'samekey')
    return protectedBy === 'samekey'
      ? 'The document says that it needs a key; the application does not protect it.'
      : null;
  if (protectedBy === 'exempt') return 'The document says that it is exempt; the application protects it.';
  if (needs && protectedBy !== 'samekey')
    return `The application refuses requests without a key; the document does not say that it needs one. ${reason ?? ''}`.trim();
  if (!needs && protectedBy === 'samekey')
    return 'The document says that it needs a key; the application runs requests without one (required: false).';
  return null;
}

/** The header that a route's keys come in; null where it does not tell, or they come elsewhere. */
function headerOf(route: Route): string | null {
  const door: Door | null = route[MARK]?.door?.() ?? null;
  return door?.header ?? null;
}
