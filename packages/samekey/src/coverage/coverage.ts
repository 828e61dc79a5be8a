/**
 * Which state-changing routes of an application are protected. A forgotten route is found by a test, not by a customer
 * who was charged twice.
 *
 * Invariant: what cannot be looked into counts as not protected.
 */

import { OptionsError } from '../core/errors.ts';
import { anything, listOf, readOptions, row, type Table, text } from '../core/options.ts';
import { expressStack } from '../adapters/express/layers.ts';
import { type Disagreement, disagreements } from './agreement.ts';
import { type Exemption, EXEMPTIONS_ROW, isAbout } from './exempt.ts';
import { expressRoutes } from './express.ts';
import { fastifyRoutes, isFastify } from './fastify.ts';
import { graphqlRoutes, isGraphql } from './graphql-fields.ts';
import { honoList, honoRoutes } from './hono.ts';
import { koaMiddleware, koaRoutes } from './koa.ts';
import { isNest, nestRoutes } from './nest.ts';
import { openApiDocument, openApiRoutes } from './openapi.ts';
import { isTrpc, trpcRoutes } from './trpc.ts';
import { CHANGING, type Route, type Routes, type Unseen, type UnseenPart } from './listed-route.ts';

/** Options of {@link coverage}. */
export interface CoverageOptions {
  /** Routes that need no protection, each with a reason. */
  readonly exempt?: readonly Exemption[];
  /** Express: applications that are used in this one (`app.use(path, other)`), and theirs. */
  readonly mounted?: readonly unknown[];
  /**
   * Functions in front of routes (body parsers, authentication, logs) that only pass requests on, or refuse them, and
   * never do what a route does: themselves, or their names.
   */
  readonly passes?: readonly unknown[];
  /** OpenAPI: the header that carries the key; default `Idempotency-Key`. */
  readonly header?: string;
  /** The OpenAPI document of the application: what it says otherwise of a route is told. Default none is compared. */
  readonly document?: object;
}

/** What {@link coverage} found. */
export interface CoverageReport {
  /** State-changing routes (POST, PATCH, PUT, DELETE), by path. */
  readonly routes: readonly Route[];
  /** Those that are neither protected nor exempt. */
  readonly gaps: readonly Route[];
  /** Parts that could not be looked into. */
  readonly unseen: readonly Unseen[];
  /** Lines of `exempt` that are about no route. */
  readonly stale: readonly Exemption[];
  /** Routes of which the OpenAPI document says something else; none without one. */
  readonly disagreements: readonly Disagreement[];
  /** Every state-changing route was seen and judged: no gaps, nothing unseen, nothing stale, and no disagreements. */
  readonly isFull: boolean;
}

const ROWS = {
  exempt: EXEMPTIONS_ROW,
  mounted: listOf(anything<unknown>(), []),
  passes: listOf(anything<unknown>(), []),
  header: text('Idempotency-Key'),
  document: row((given) => {
    const document = openApiDocument(given);
    if (document !== null) return document;
    throw new OptionsError('coverage: document is an OpenAPI 3 document, parsed.');
  }),
} satisfies Table<CoverageOptions>;

/**
 * The routes of an application: of Express 4 or 5 (or one of its routers), Fastify 5, Hono, Koa with @koa/router,
 * NestJS 11 or 12, the mutations of a router of tRPC 11 or of a schema of GraphQL, or those of an OpenAPI 3 document.
 * Throws `OptionsError` for anything else.
 */
export function routesOf(app: unknown, options: CoverageOptions = {}): Routes {
  const { mounted, header } = readOptions('coverage', ROWS, options);
  if (isNest(app)) return nestRoutes(app, mounted);
  if (isFastify(app)) return fastifyRoutes(app);
  if (isTrpc(app)) return trpcRoutes(app);
  if (isGraphql(app)) return graphqlRoutes(app);
  const document = openApiDocument(app);
  if (document !== null) return openApiRoutes(document, header);
  const koa = koaMiddleware(app);
  if (koa !== null) return koaRoutes(koa);
  const hono = honoList(app);
  if (hono !== null) return honoRoutes(hono);
  if (expressStack(app) !== null) return expressRoutes(app, mounted);
  throw new OptionsError(
    'Its routes cannot be listed: pass an application of Express, Fastify, Hono, Koa or NestJS, a router of tRPC, a schema of GraphQL, or an OpenAPI 3 document.',
  );
}

/** Whether {@link routesOf} knows how to list its routes. */
export function isListable(app: unknown): boolean {
  return (
    isNest(app) ||
    isFastify(app) ||
    isTrpc(app) ||
    isGraphql(app) ||
    openApiDocument(app) !== null ||
    koaMiddleware(app) !== null ||
    honoList(app) !== null ||
    expressStack(app) !== null
  );
}

/**
 * Which state-changing routes are protected. Throws `OptionsError` as {@link routesOf}, and for exemptions without a
 * reason.
 */
export function coverage(app: unknown, options: CoverageOptions = {}): CoverageReport {
  const { exempt = [], passes, header, document } = readOptions('coverage', ROWS, options);
  const seen = routesOf(app, options);
  const found = {
    ...seen,
    unseen: [...seen.unseen.filter((part) => !isSaid(part, passes)).map(told), ...nothing(seen)],
  };
  const changing = found.routes.filter(({ method }) => CHANGING.includes(method));
  const routes = changing
    .map((route) => exempted(route, exempt))
    .toSorted((a, b) => order(a.path, b.path) || order(a.method, b.method));
  const gaps = routes.filter(({ protectedBy }) => protectedBy === null);
  const unseen = found.unseen.filter((part) => !exempt.some((each) => excuses(each, part)));
  const stale = exempt.filter(
    (each) =>
      !changing.some((route) => isAbout(each, route)) && !found.unseen.some((part) => excuses(each, part)),
  );
  const otherwise = document === undefined ? [] : disagreements(routes, document, header);
  const isFull = [gaps, unseen, stale, otherwise].every(({ length }) => length === 0);
  return { routes, gaps, unseen, stale, disagreements: otherwise, isFull };
}

/**
 * Throws an `Error` with a list of what is missing, for a test:
 *
 * ```ts
 * it('every state-changing route is safe to retry', () => expectFullCoverage(app));
 * ```
 */
export function expectFullCoverage(app: unknown, options: CoverageOptions = {}): void {
  const report = coverage(app, options);
  if (!report.isFull) throw new Error(coverageText(report));
}

/** A report for people: what is missing first, what is exempt and why last. */
export function coverageText(report: CoverageReport): string {
  const { routes, gaps, unseen, stale, isFull } = report;
  const protectedCount = routes.filter(({ protectedBy }) => protectedBy === 'samekey').length;
  const exempt = routes.filter(({ protectedBy }) => protectedBy === 'exempt');
  const head =
    `${protectedCount} of ${routes.length} state-changing routes protected, ${exempt.length} exempt, ` +
    `${gaps.length} not protected${unseen.length > 0 ? `, ${unseen.length} not seen` : ''}.`;
  return [
    head,
    ...section('Not protected: put idempotent() or serve() there, or exempt("why").', gaps.map(routeLine)),
    ...section(
      'Not seen:',
      unseen.map(({ where, why }) => `${where}  ${why}`),
    ),
    ...section(
      'Exemptions of no route: take them off the list.',
      stale.map(({ method = '*', path }) => `${method} ${path}`),
    ),
    ...section(
      'The OpenAPI document says something else:',
      report.disagreements.map(({ why, ...route }) =>
        routeLine({ ...route, protectedBy: null, reason: why }),
      ),
    ),
    ...section(
      'Protected, and to be known:',
      routes.filter(({ protectedBy, reason }) => protectedBy === 'samekey' && reason !== null).map(routeLine),
    ),
    ...section(isFull ? 'Exempt:' : 'Exempt, as declared:', exempt.map(routeLine)),
  ].join('\n');
}

function exempted(route: Route, exempt: readonly Exemption[]): Route {
  if (route.protectedBy !== null) return route;
  const found = exempt.find((each) => isAbout(each, route));
  return found === undefined ? route : { ...route, protectedBy: 'exempt', reason: found.reason.trim() };
}

/** Whether the application has said that it passes requests on. */
function isSaid({ fn }: UnseenPart, passes: readonly unknown[]): boolean {
  return (
    fn !== undefined && (passes.includes(fn) || passes.includes((fn as { readonly name?: unknown }).name))
  );
}

function told({ where, why }: UnseenPart): Unseen {
  return { where, why };
}

/** An application of which nothing changes anything is more often one that was made elsewhere, or is not finished. */
function nothing({ routes, unseen }: Routes): readonly Unseen[] {
  if (unseen.length > 0 || routes.some(({ method }) => CHANGING.includes(method))) return [];
  const why =
    'It has no state-changing route at all: pass it when its routes are there, or say in "exempt" that it has none.';
  return [{ where: 'the application', why }];
}

/** What nobody can look into has no methods: a line about one of them does not excuse it. */
function excuses(each: Exemption, { where }: Unseen): boolean {
  return each.method === undefined && isAbout(each, { method: '', path: where });
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function routeLine({ method, path, reason }: Route): string {
  return `${method.padEnd(6)} ${path}${reason === null ? '' : `  (${reason})`}`;
}

/** By code units, so that a report is the same everywhere. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
