/**
 * The content codings of a request body, as their field lists them. Honest clients apply one; each further layer is
 * work that a small request asks for, so there are two at most, and more are refused before anything is undone (F91).
 *
 * Source: RFC 9110 §8.4.
 */

/** Layers that are undone. */
const LAYERS_MAX = 2;

/**
 * The codings in the order in which they were applied, without those that say nothing; null when there are too many.
 */
export function contentCodings(field: string): readonly string[] | null {
  const names = field
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  return names.length > LAYERS_MAX ? null : names;
}

/** What is said of too many. */
export const TOO_MANY_CODINGS: string = `The body has more than ${LAYERS_MAX} content codings.`;
