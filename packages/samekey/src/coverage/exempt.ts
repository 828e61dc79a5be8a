/** Saying that a route needs no protection, and why: where the route is, or in a list. */

import { OptionsError } from '../core/errors.ts';
import { listOf, nested, required, type Row, row, type Table, text } from '../core/options.ts';

const EXEMPT: unique symbol = Symbol.for('samekey.exempt');

type Continue = (...values: never[]) => unknown;

/** Middleware of Express, Hono and Koa, and a hook of Fastify: it does nothing but go on. */
export type ExemptMiddleware = (first: unknown, second: unknown, third?: unknown) => Promise<void>;

/**
 * Declares a route exempt: as middleware in front of its handler, or around the handler. Throws `OptionsError` without
 * a reason.
 *
 * ```ts
 * app.post('/search', exempt('reads only'), search);
 * ```
 */
export function exempt(reason: string): ExemptMiddleware;
export function exempt<Handler extends (...args: never[]) => unknown>(
  reason: string,
  handler: Handler,
): Handler;
export function exempt(reason: string, handler?: (...args: never[]) => unknown): unknown {
  const said = checked(reason);
  if (handler !== undefined) {
    const wrapped = (...args: never[]): unknown => handler(...args);
    // Frameworks tell handlers from middleware and from error handlers by their number of parameters.
    return mark(Object.defineProperty(wrapped, 'length', { value: handler.length }), said);
  }
  return mark(goOn.bind(null), said);
}

/** `next` comes third in Express and Fastify, second in Hono and Koa. Three parameters: middleware to each of them. */
function goOn(_first: unknown, second: unknown, third: unknown): Promise<void> {
  const next = typeof third === 'function' ? third : second;
  // A promise where the framework's own `next` gives one; the others ask for none. Fastify takes no async function
  // here.
  return (next as Continue)() as Promise<void>;
}

/** Declares a method of a NestJS controller exempt, or all of a controller. Throws `OptionsError` without a reason. */
export function Exempt(reason: string): ClassDecorator & MethodDecorator {
  const said = checked(reason);
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const value: unknown = descriptor === undefined ? target : descriptor.value;
    mark(value as object, said);
  };
}

/** Why a function is exempt; null if it is not. */
export function exemptionOf(fn: unknown): string | null {
  return (fn as { readonly [EXEMPT]?: string } | null | undefined)?.[EXEMPT] ?? null;
}

/** One line of a list of exemptions. */
export interface Exemption {
  /** Default every method. */
  readonly method?: string;
  /** As the report spells it; with `*` at its end whatever begins so. */
  readonly path: string;
  readonly reason: string;
}

/** Exemptions as a member of options. */
export const EXEMPTIONS_ROW: Row<readonly Exemption[], undefined> = listOf(
  nested({
    method: text(),
    path: required(text(), 'An exemption names a path, as the report spells it.'),
    reason: required(
      row((given) => checked(given)),
      'An exemption needs a reason: say why a repeat of this request does no harm.',
    ),
  } satisfies Table<Exemption>),
);

/** Whether a line of a list is about a route. */
export function isAbout({ method, path }: Exemption, route: { method: string; path: string }): boolean {
  if (method !== undefined && method.toUpperCase() !== route.method) return false;
  return path.endsWith('*') ? route.path.startsWith(path.slice(0, -1)) : path === route.path;
}

function checked(reason: unknown, of = ''): string {
  if (typeof reason === 'string' && reason.trim() !== '') return reason.trim();
  throw new OptionsError(`An exemption${of} needs a reason: say why a repeat of this request does no harm.`);
}

function mark<Value extends object>(value: Value, reason: string): Value {
  return Object.defineProperty(value, EXEMPT, { value: reason, configurable: true });
}
