/**
 * Which members of a body are left out of a fingerprint, or alone count for it: a list of JSON Pointers as a tree.
 *
 * A text that starts with `/` is a JSON Pointer (RFC 6901: `/a/b`, array index `/items/0`, `~1` for `/`, `~0` for `~`);
 * any other text is the name of one top-level member. Invariant: what cannot be told apart is compared, not ignored:
 * a path that meets a value it cannot descend into keeps that value whole.
 */
import { OptionsError } from '../core/errors.ts';

/** One place of the tree: `whole` where a path ends, else the places below it. */
export interface PathTree {
  readonly whole: boolean;
  readonly members: ReadonlyMap<string, PathTree>;
  /** Whether a member's name could be an array index: a tree without one does not apply to arrays. */
  readonly indexed: boolean;
}

interface MutableTree {
  whole: boolean;
  members: Map<string, MutableTree>;
  indexed: boolean;
}

/** The list as sorted JSON Pointers without repeats; throws {@link OptionsError} for the empty or a malformed one. */
export function pointersOf(paths: readonly string[]): readonly string[] {
  const pointers = paths.map((path) => {
    if (path === '') {
      throw new OptionsError(
        'A path of the fingerprint is empty: name a member, or give a JSON Pointer such as /a/b.',
      );
    }
    if (!path.startsWith('/')) return `/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (/~(?![01])/.test(path)) {
      throw new OptionsError(`The JSON Pointer ${JSON.stringify(path)} has a bare "~": write "~0" for it.`);
    }
    return path;
  });
  return [...new Set(pointers)].toSorted();
}

/** The tree of a list of JSON Pointers; undefined for none. A path below another that ends above it adds nothing. */
export function pathTree(pointers: readonly string[] | undefined): PathTree | undefined {
  if (pointers === undefined) return undefined;
  const root = newTree();
  for (const pointer of pointers) {
    let place = root;
    for (const token of pointer.slice(1).split('/')) {
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
      let next = place.members.get(name);
      if (next === undefined) {
        next = newTree();
        place.members.set(name, next);
        place.indexed ||= /^(?:0|[1-9][0-9]*)$/.test(name);
      }
      place = next;
    }
    place.whole = true;
  }
  return root;
}

function newTree(): MutableTree {
  return { whole: false, members: new Map(), indexed: false };
}
