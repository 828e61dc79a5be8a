/** Who a caller is, as an application says it: of a route, and of an identity that the route had before. */

/**
 * Whom a key is unique for, from the authenticated request: texts such as tenant and principal, or one text. Nothing
 * (null, undefined, an empty text or list) means that the caller is not known: the request is refused.
 */
export type ScopeFunction<Native> = (
  request: Native,
) => readonly string[] | string | null | undefined | Promise<readonly string[] | string | null | undefined>;

/**
 * What of the caller a key is bound to, such as its session. Nothing (null, undefined, an empty text) means that the
 * caller is not known: the request is refused.
 */
export type BindFunction<Native> = (
  request: Native,
) => string | null | undefined | Promise<string | null | undefined>;
