/**
 * What a protected route says of its keys, as data: `x-idempotency` in an OpenAPI document, a member of the well-known
 * document, and what the page is written from.
 */

import { OptionsError } from '../core/errors.ts';
import { KEY_LENGTH_MAX } from '../core/key.ts';
import { MARK, type Route } from '../coverage/listed-route.ts';
import type { Door } from '../http/marker.ts';
import { protectionOf } from '../http/marker.ts';
import { headerSpelt, isoDuration, policyInWords } from './words.ts';

/** Where a key comes. */
export type KeyAt =
  | { in: 'header'; name: string; otherNames?: string[] }
  | { in: 'query'; name: string }
  | { in: 'body'; member: string }
  /** A member of JSON that the header carries in Base64. */
  | { in: 'header'; name: string; member: string }
  /** The application finds it: only its documentation knows where. */
  | { in: 'elsewhere' };

/** What a route says of its keys. */
export interface Idempotency {
  /** Whether a request without a key is refused. */
  required: boolean;
  key: KeyAt;
  /** The same key of another caller is another key; so is that of another operation, unless this says `caller`. */
  uniqueFor: 'operation' | 'caller';
  /** How long a key is remembered from its first use on, as ISO 8601 has it. */
  retention: string;
  /** How long an expired key is told that it is one, and does not run; without it, it runs as a new one. */
  goneFor?: string;
  /** What must be equal on a retry. */
  compared: string;
  /** What becomes of each answer of the operation itself. */
  policy: string;
  /** Headers that a request must have beside its key. */
  alsoNeeded?: string[];
}

/** The door of a protected function. Throws `OptionsError`. */
export function doorOf(fn: unknown): Door {
  const door = protectionOf(fn)?.door?.() ?? null;
  if (door === null)
    throw new OptionsError(
      'This is not what idempotent() or serve() returned, or is a method of NestJS before the application has made its controller: nothing is known of its keys.',
    );
  return door;
}

/** The door of a protected route. Throws `OptionsError`. */
export function doorOfRoute(route: Route): Door {
  const door = route[MARK]?.door?.() ?? null;
  if (door !== null) return door;
  throw new OptionsError(
    `${route.method} ${route.path} is marked as protected, and its options are not known: to be silent about it would mislead.`,
  );
}

/** Describes a door. */
export function described(door: Door): Idempotency {
  const { settings, required, uniqueFor } = door;
  const alsoNeeded = timeHeaders(door);
  return {
    required,
    key: keyAt(door),
    uniqueFor,
    retention: isoDuration(settings.retentionMs),
    ...(settings.tombstoneMs > 0 && { goneFor: isoDuration(settings.tombstoneMs) }),
    compared: comparedInWords(door),
    policy: policyInWords(settings.policy).join(' '),
    ...(alsoNeeded.length > 0 && { alsoNeeded: [...alsoNeeded] }),
  };
}

/** The headers with times that requests must have. */
export function timeHeaders({ freshness, firstSent }: Door): readonly string[] {
  return [freshness, firstSent].flatMap((option) => (option === null ? [] : [headerSpelt(option.header)]));
}

/** The place that clients are told of: another than a header only where no header is named. */
function keyAt({ keyIn, headerName, otherHeaders }: Door): KeyAt {
  if (headerName.startsWith('/')) return { in: 'body', member: headerName };
  if (headerName.startsWith('?')) return { in: 'query', name: headerName.slice(1) };
  const [header = '', member] = headerName.split('#');
  if (member !== undefined) return { in: 'header', name: header, member };
  if (keyIn?.kind === 'function') return { in: 'elsewhere' };
  const otherNames = otherHeaders.map(headerSpelt);
  return { in: 'header', name: headerName, ...(otherNames.length > 0 && { otherNames }) };
}

/** A place in words. */
export function placeInWords(key: KeyAt): string {
  if (key.in === 'elsewhere') return 'where this API says';
  if (key.in === 'body') return `in the member \`${key.member}\` of the JSON body`;
  if (key.in === 'query') return `in the parameter \`${key.name}\` of the query`;
  if ('member' in key)
    return `in the member \`${key.member}\` of the JSON that the header \`${key.name}\` carries in Base64`;
  const names = [key.name, ...(key.otherNames ?? [])].map((name) => `\`${name}\``);
  return names.length === 1 ? `in the header ${names[0] ?? ''}` : `in one of the headers ${names.join(', ')}`;
}

/** Which keys are taken, in words. */
export function formInWords({ key, keyIn, headerName }: Door): string {
  const { lengthMin = 1, lengthMax = KEY_LENGTH_MAX, uuidOnly = false, refusePersonalData, mode } = key;
  const isHeader = keyIn === null || !/[/?#]/.test(headerName);
  const form =
    uuidOnly === false
      ? `${lengthMin === 1 ? `up to ${lengthMax}` : `${lengthMin} to ${lengthMax}`} printable ASCII characters`
      : `a UUID${uuidOnly === true ? '' : ` of version ${uuidOnly}`}`;
  const quotes = mode === 'strict' ? 'in double quotes (RFC 9651 String)' : 'with or without double quotes';
  const personal =
    refusePersonalData === true ? '; nothing that looks like an e-mail address or a card number' : '';
  return `${form}${isHeader ? `, ${quotes}` : ''}${personal}`;
}

/** What must be equal on a retry, in words. */
export function comparedInWords({ fingerprinter, bindTo }: Door): string {
  const { omit = [], pick, headers = [], path, of } = fingerprinter.options;
  const body =
    pick !== undefined
      ? `the members ${listed(pick)} of the body`
      : `the body (JSON by its values)${omit.length > 0 ? ` without ${listed(omit)}` : ''}`;
  const parts = ['method', path === undefined ? 'path' : 'path (as far as it matters)'];
  parts.push(...(of === undefined ? ['query', body] : ['what this API takes from the request']));
  if (headers.length > 0) parts.push(`the headers ${listed(headers)}`);
  if (bindTo !== null) parts.push('what of the caller the key is bound to, such as its session');
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
