/**
 * What a door answers in the handler's place: each case is rendered by the route's own profile, and its schema is that
 * of what came out. A profile of yours is described as well as those that come with Samekey.
 */

import { describeKeyFault } from '../core/key.ts';
import type { KeyFault } from '../core/errors.ts';
import type { UnavailableReason } from '../core/outcome.ts';
import type { StoredResponse } from '../core/response.ts';
import type { Door } from '../http/marker.ts';
import {
  type Problem,
  type ProblemCode,
  problemCode,
  problemOf,
  type ProblemOutcome,
} from '../http/problem.ts';
import { schemaOf } from './inferred.ts';
import type { Schema } from './key-schema.ts';

/** A header of an answer. */
export interface HeaderPart {
  description: string;
  schema: Schema;
}

/** An answer in an OpenAPI document. */
export interface ResponsePart {
  description: string;
  headers: Record<string, HeaderPart>;
  content?: Record<string, { schema: Schema; examples: Record<string, { summary: string; value: unknown }> }>;
}

/** A case that a door may answer. */
interface Case {
  readonly code: ProblemCode;
  readonly problem: Problem;
  /** What the client gets, twice: where the two differ, other clients get something else again. */
  readonly answers: readonly [StoredResponse, StoredResponse];
}

/** All cases of a door, in the order of precedence of contract §4.1. */
export function casesOf(door: Door): readonly Case[] {
  const found = new Map<ProblemCode, Case>();
  const first = outcomesOf(door, FIRST);
  const second = outcomesOf(door, SECOND);
  for (const [i, outcome] of first.entries()) {
    const code = problemCode(outcome);
    if (found.has(code)) continue;
    const answers = [rendered(door, outcome), rendered(door, second[i] ?? outcome)] as const;
    found.set(code, { code, problem: problemOf(code, door.headerName), answers });
  }
  return [...found.values()];
}

/** What varies from answer to answer. */
interface Variant {
  readonly words: string;
  readonly ms: number;
  readonly path: readonly string[];
  readonly location: string | null;
  readonly status: number | null;
  readonly fault: 'missing' | 'malformed';
}

const FIRST: Variant = {
  words: 'What is wrong, in words.',
  ms: 1_000,
  path: ['amount'],
  location: '/payments/1',
  status: 201,
  fault: 'missing',
};
const SECOND: Variant = {
  words: 'Something else, in words.',
  ms: 60_000,
  path: [],
  location: null,
  status: null,
  fault: 'malformed',
};

const ALWAYS_FAULTS: readonly KeyFault[] = [
  'empty',
  'blank',
  'too-long',
  'control-character',
  'not-ascii',
  'several',
  'grammar',
];

function faultsOf({ key }: Door): readonly KeyFault[] {
  const faults = [...ALWAYS_FAULTS];
  if ((key.lengthMin ?? 1) > 1) faults.push('too-short');
  if ((key.uuidOnly ?? false) !== false) faults.push('not-uuid');
  if (key.refusePersonalData === true) faults.push('personal-data');
  return faults;
}

/** Whether a door may give each. */
function reasonsOf({ settings, onReplay }: Door): readonly UnavailableReason[] {
  const given = {
    store: true,
    'store-full': true,
    closing: true,
    'newer-format': true,
    'other-label': true,
    limiter: settings.limits !== null,
    moved: true,
    'kept-elsewhere': true,
    'bridge-unfit': true,
    'too-large-now': true,
    'replay-hook': onReplay !== null,
    unreadable: true,
  } satisfies Record<UnavailableReason, boolean>;
  return (Object.keys(given) as UnavailableReason[]).filter((reason) => given[reason]);
}

/** What requests may meet at this door. Of each two variants the same number, in the same order. */
function outcomesOf(
  door: Door,
  { words: detail, ms, path, location, status, fault }: Variant,
): ProblemOutcome[] {
  const { keyIn, served, schema, freshness, firstSent, settings } = door;
  const takesJson = keyIn?.kind === 'body' || served !== undefined || schema !== null;
  return [
    { kind: 'anonymous' },
    ...when(door.required, { kind: 'key-missing' }),
    ...faultsOf(door).map((one) => ({
      kind: 'key-malformed' as const,
      fault: one,
      detail: describeKeyFault(one, door.key),
    })),
    { kind: 'request-unreadable', detail },
    ...when(takesJson, { kind: 'request-malformed', detail }),
    { kind: 'request-too-large', sizeMaxBytes: door.requestSizeMaxBytes },
    ...when(freshness !== null || firstSent !== null, { kind: 'request-time-invalid', fault }),
    ...when(freshness !== null || firstSent !== null, { kind: 'request-too-old', windowMs: ms }),
    ...reasonsOf(door).map((because) => ({ kind: 'unavailable' as const, because, retryAfterMs: ms })),
    ...when(settings.tombstoneMs > 0, { kind: 'expired' }),
    { kind: 'mismatch' },
    { kind: 'response-not-stored', state: 'completed', originalStatus: status, location, expiresAt: ms },
    { kind: 'unknown', retryAfterMs: ms },
    ...when(served?.isDeferred === true, { kind: 'pending', retryAfterMs: ms }),
    { kind: 'in-progress', retryAfterMs: ms },
    { kind: 'attempts-exhausted' },
    ...when(schema !== null || served?.isChecked === true, {
      kind: 'request-invalid',
      issues: [{ path, message: detail }],
    }),
    ...when(settings.limits !== null, { kind: 'limited', retryAfterMs: ms }),
  ];
}

function when(is: boolean, outcome: ProblemOutcome): ProblemOutcome[] {
  return is ? [outcome] : [];
}

/** As it is sent: with the lines that the profile adds to every answer to a known key. */
function rendered(door: Door, outcome: ProblemOutcome): StoredResponse {
  const answer = door.profile.render(outcome, door.headerName);
  const added = door.profile.answerHeaders?.({ status: answer.status, isFinal: null, key: 'key' }) ?? [];
  return { ...answer, headers: [...answer.headers, ...added] };
}

/** The same cases, by status. */
export function responsesOf(cases: readonly Case[]): Record<string, ResponsePart> {
  const byStatus = new Map<number, Case[]>();
  for (const each of cases) {
    const [{ status }] = each.answers;
    byStatus.set(status, [...(byStatus.get(status) ?? []), each]);
  }
  return Object.fromEntries(
    [...byStatus].toSorted(([a], [b]) => a - b).map(([status, same]) => [String(status), responseOf(same)]),
  );
}

function responseOf(cases: readonly Case[]): ResponsePart {
  const headers: Record<string, HeaderPart> = {};
  const byType = new Map<string, Case[]>();
  for (const each of cases) {
    for (const [name] of each.answers.flatMap(({ headers: lines }) => lines)) {
      if (!/^(?:content-type|cache-control)$/i.test(name)) headers[name] = headerPart(name);
    }
    const type = contentType(each.answers[0]);
    if (type !== null) byType.set(type, [...(byType.get(type) ?? []), each]);
  }
  const content = Object.fromEntries(
    [...byType].map(([type, same]) => [
      type,
      {
        schema: schemaOf(same.map(({ answers: [a, b] }) => [bodyOf(a), bodyOf(b)])),
        examples: Object.fromEntries(
          same.map(({ code, problem, answers: [a] }) => [code, { summary: problem.title, value: bodyOf(a) }]),
        ),
      },
    ]),
  );
  const description = cases.map(({ code, problem }) => `${problem.title} (\`${code}\`).`).join(' ');
  return { description, headers, ...(byType.size > 0 && { content }) };
}

function contentType({ headers, body }: StoredResponse): string | null {
  if (body === null || body.length === 0) return null;
  const line = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  return line?.split(';')[0]?.trim().toLowerCase() ?? 'application/octet-stream';
}

/** Parsed, if it is JSON. */
function bodyOf({ body }: StoredResponse): unknown {
  const text = new TextDecoder().decode(body ?? undefined);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const HEADERS: Readonly<Record<string, readonly [description: string, schema: Schema]>> = {
  'retry-after': ['Seconds to wait before the same request is sent again.', { type: 'integer', minimum: 1 }],
  'idempotency-key-expires': ['Until when retries get this answer (HTTP date).', { type: 'string' }],
  'idempotency-stored': ['`false`: no retry will get this answer.', { type: 'string', enum: ['false'] }],
  location: [
    'Where the result is, or the status of what is not finished.',
    { type: 'string', format: 'uri-reference' },
  ],
  link: ['The page that explains this answer.', { type: 'string' }],
};

/** What is known of a header by its name. */
export function headerPart(name: string, value?: string): HeaderPart {
  const [description, schema] = HEADERS[name.toLowerCase()] ?? [
    value === undefined
      ? 'Part of how this API tells of idempotency.'
      : `\`${value}\`: an earlier request was answered so.`,
    { type: 'string', ...(value !== undefined && { enum: [value] }) },
  ];
  return { description, schema };
}
