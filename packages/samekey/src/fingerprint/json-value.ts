/**
 * The one serialiser: how a value becomes the JSON that is stored or handed on (answers, results of steps, messages),
 * and what may be compared (fingerprints, inputs).
 *
 * Invariants
 * - Nothing is lost in silence. What JSON would drop, flatten or make `null` is a fault that names its member:
 *   functions, symbols, bigints, NaN and infinities, cycles, bytes, and whatever keeps its contents elsewhere than in
 *   members of its own (Map, Set, promises, errors, classes with private fields alone).
 * - Handed on: `toJSON` is honoured, absent members (`undefined`) drop out, an absent element of an array is `null`,
 *   instances of a class are their members.
 * - Compared: plain JSON only. An instance of a class may hide what makes it another value, so it is refused.
 * - Nesting is bounded, and so is the stack.
 */

import { DEPTH_MAX } from './canonical-json.ts';
import { type ValueFault, ValueError } from '../core/errors.ts';

/** What is wrong, and where: the path is put together while it is passed up. */
interface Found {
  readonly fault: ValueFault;
  readonly holds: string;
  readonly path: (string | number)[];
  /** Of a cycle: how many parts lead to where it closes. */
  readonly length?: number;
}

const HANDED_ON: Gate = { plainOnly: false };
const COMPARED: Gate = { plainOnly: true };

interface Gate {
  readonly plainOnly: boolean;
}

/**
 * The JSON of a value that is handed on; undefined for an absent value. `what` begins the message. Throws `ValueError`.
 */
export function jsonOf(what: string, value: unknown): string | undefined {
  return textOf(what, value, HANDED_ON, 'hand on plain data: texts, numbers, lists and objects of these.');
}

/** The JSON of a value that is compared; undefined for an absent value. Throws `ValueError`. */
export function comparedJsonOf(what: string, value: unknown): string | undefined {
  return textOf(what, value, COMPARED, 'pass plain JSON, or bytes alone; a date or a decimal as its text.');
}

function textOf(what: string, value: unknown, gate: Gate, mend: string): string | undefined {
  let found: Found | null;
  try {
    found = look(value, '', gate, []);
    if (found === null) return JSON.stringify(value);
  } catch (cause) {
    // A getter or `toJSON` threw, or gave another value the second time.
    throw new ValueError('unreadable', '', `${what} cannot be read: one of its members threw; ${mend}`, {
      cause,
    });
  }
  const path = pathText(found.path.toReversed().slice(0, found.length));
  const where = path === '' ? '' : ` at ${path}`;
  throw new ValueError(found.fault, path, `${what} holds ${found.holds}${where}: ${mend}`);
}

/** The first fault in the value; null: there is none. `above` are the objects that it is in. */
function look(value: unknown, name: string | number, gate: Gate, above: object[]): Found | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return null;
    case 'number':
      return Number.isFinite(value) ? null : notJson(`${value} (JSON has no number for it)`);
    case 'symbol':
      return notJson('a symbol');
    default:
      return value === null ? null : lookInto(value as object, name, gate, above);
  }
}

/** An object, a function, or a bigint, which may have learned `toJSON` too. */
function lookInto(value: object, name: string | number, gate: Gate, above: object[]): Found | null {
  if (!gate.plainOnly) {
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === 'function') {
      if (above.length >= DEPTH_MAX) return tooDeep(value, above);
      above.push(value);
      const found = lookAtJson(toJSON.call(value, String(name)) as unknown, gate, above);
      above.pop();
      return found;
    }
  }
  return lookAtJson(value, gate, above);
}

/** What `toJSON` gave is not asked for its own. */
function lookAtJson(value: unknown, gate: Gate, above: object[]): Found | null {
  if (typeof value === 'bigint') return notJson('a bigint');
  if (typeof value === 'function') return notJson('a function');
  if (typeof value !== 'object' || value === null) return look(value, '', gate, above);
  if (above.length >= DEPTH_MAX) return tooDeep(value, above);
  above.push(value);
  const found = Array.isArray(value)
    ? lookAtElements(value, gate, above)
    : (faultOfKind(value, gate) ?? lookAtMembers(value as Readonly<Record<string, unknown>>, gate, above));
  above.pop();
  return found;
}

function lookAtElements(list: readonly unknown[], gate: Gate, above: object[]): Found | null {
  for (let i = 0; i < list.length; i++) {
    const value = list[i];
    const found =
      value === undefined && gate.plainOnly ? notJson('an absent element') : look(value, i, gate, above);
    if (found !== null) return under(i, found);
  }
  return null;
}

function lookAtMembers(value: Readonly<Record<string, unknown>>, gate: Gate, above: object[]): Found | null {
  for (const name of Object.keys(value)) {
    const found = look(value[name], name, gate, above);
    if (found !== null) return under(name, found);
  }
  return null;
}

/** Built-ins that keep what they hold elsewhere than in members, whatever members somebody gave them. */
const OPAQUE: ReadonlySet<string> = new Set(
  'Map Set WeakMap WeakSet WeakRef Promise Error RegExp ArrayBuffer SharedArrayBuffer BigInt Symbol URLSearchParams FormData Headers Blob File Request Response ReadableStream Generator AsyncGenerator'.split(
    ' ',
  ),
);
/** What JSON unwraps. */
const BOXES: ReadonlySet<string> = new Set(['Number', 'String', 'Boolean']);

/** Whether an object is of a kind that JSON would flatten. */
function faultOfKind(value: object, { plainOnly }: Gate): Found | null {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return null;
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (ArrayBuffer.isView(value) || OPAQUE.has(kind)) return notJson(article(kind));
  // A plain object of another realm: a frame, a `vm` context, a test runner's sandbox.
  if (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')) return null;
  if (plainOnly) return notJson(`an instance of ${nameOf(value, kind)}`);
  if (BOXES.has(kind) || Object.keys(value).length > 0) return null;
  return notJson(`an instance of ${nameOf(value, kind)} (without members of its own)`);
}

function nameOf(value: object, kind: string): string {
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } };
  return typeof constructor?.name === 'string' && constructor.name !== '' ? constructor.name : kind;
}

function article(kind: string): string {
  return `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

function tooDeep(value: object, above: readonly object[]): Found {
  if (above.includes(value)) {
    const seen = new Set<object>();
    const length = above.findIndex((object) => seen.size === seen.add(object).size);
    return { fault: 'cycle', holds: 'itself (a cycle)', path: [], length };
  }
  return { fault: 'too-deep', holds: `more than ${DEPTH_MAX} levels`, path: [] };
}

function notJson(holds: string): Found {
  return { fault: 'not-json', holds, path: [] };
}

function under(name: string | number, found: Found): Found {
  // Put the right way round when it is shown.
  found.path.push(name);
  return found;
}

/** Parts of a path that are shown, and characters of one: names may be the client's. */
const PARTS_MAX = 12;
const NAME_LENGTH_MAX = 64;

function pathText(path: readonly (string | number)[]): string {
  const shown = path.slice(0, PARTS_MAX).map((part) => {
    if (typeof part === 'number') return `[${part}]`;
    const name = part.length > NAME_LENGTH_MAX ? `${part.slice(0, NAME_LENGTH_MAX)}…` : part;
    return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  const text = shown.join('') + (path.length > PARTS_MAX ? '…' : '');
  return text.startsWith('.') ? text.slice(1) : text;
}
