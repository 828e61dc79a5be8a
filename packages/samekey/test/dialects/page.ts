/** The page about dialects, made of what the dialects are and of what their pages say. */

import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { POLICIES, type Policy } from '../../src/core/policy.ts';
import type { ProblemOutcome } from '../../src/http/problem.ts';
import type { Profile } from '../../src/http/profile.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import type { Dialect } from '../../src/dialects/index.ts';
import { type Fact, FACTS, type Spoken } from './spoken.ts';

const PAGE = new URL('../../../../docs/reference/dialects.md', import.meta.url);
const [BEGIN, END] = ['<!-- made by the tests of dialects -->', '<!-- end -->'];
const retryAfterMs = 1_000;

/** What a row of contract §4.1 is answered with in the handler's place. */
const OUTCOMES: Readonly<Partial<Record<Fact, ProblemOutcome>>> = {
  '0': { kind: 'anonymous' },
  '1': { kind: 'key-missing' },
  '2': { kind: 'key-malformed', fault: 'too-long', detail: 'x' },
  '3': { kind: 'request-too-old', windowMs: 1 },
  '3a': { kind: 'request-malformed', detail: 'x' },
  '4': { kind: 'unavailable', because: 'store', retryAfterMs },
  '5': { kind: 'expired' },
  '6': { kind: 'mismatch' },
  '7a': {
    kind: 'response-not-stored',
    state: 'completed',
    originalStatus: 201,
    location: null,
    expiresAt: 0,
  },
  '8': { kind: 'unknown', retryAfterMs },
  '9': { kind: 'pending', retryAfterMs },
  '10': { kind: 'in-progress', retryAfterMs },
  '11': { kind: 'attempts-exhausted' },
  '11a': { kind: 'key-malformed', fault: 'not-uuid', detail: 'x' },
  '11b': { kind: 'request-invalid', issues: [{ path: ['amount'], message: 'x' }] },
  '13': { kind: 'limited', retryAfterMs },
};

const ROWS = [...FACTS.keys()].filter((fact) => OUTCOMES[fact] !== undefined);

function profileOf({ route }: Dialect): Profile {
  return typeof route.profile === 'object' ? route.profile : ietf();
}

function placeOf(place: NonNullable<Dialect['route']['keyIn']>): string {
  if ('query' in place) return `parameter \`${place.query}\` of the query, or a header`;
  return 'header' in place
    ? `member \`${place.member}\` of the JSON in the header \`${place.header}\`, or a header`
    : `member \`${place.body}\`, or a header`;
}

/** Status and code of what is answered. */
function answerOf(dialect: Dialect, fact: Fact): { readonly status: number; readonly code: string } | null {
  const outcome = OUTCOMES[fact];
  if (outcome === undefined) return null;
  const { status, body } = profileOf(dialect).render(outcome);
  return { status, code: codeIn(JSON.parse(new TextDecoder().decode(body ?? undefined))) };
}

const NAMES_OF_CODES = ['errorCode', 'issue', 'code', 'type', 'status', '__type', 'errorClass'];

/** The code, wherever the form has it. */
function codeIn(body: unknown): string {
  if (Array.isArray(body)) return codeIn(body[0]);
  if (typeof body !== 'object' || body === null) return '';
  const all = body as Readonly<Record<string, unknown>>;
  for (const within of ['error', 'errors', 'details', 'extensions', 'adcp_error']) {
    const found = typeof all[within] === 'object' ? codeIn(all[within]) : '';
    if (found !== '') return found;
  }
  return NAMES_OF_CODES.map((name) => all[name]).find((own) => typeof own === 'string') ?? '';
}

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

function lengthOf(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms % each === 0 && ms / each > 1) ?? [1, 'ms'];
  return unit === 'ms' ? `${ms} ms` : `${ms / size} ${unit}s`;
}

function policyOf({ operation: { policy } }: Dialect): Policy | null {
  return policy === undefined ? null : typeof policy === 'string' ? POLICIES[policy] : policy;
}

const AFTER_FAILURE = {
  failed: 'kept, and given again',
  retryable: 'runs again',
  unknown: 'unknown, does not run',
  completed: '',
} as const;

function named(names: readonly string[] = []): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function comparedOf({ omit, headers }: NonNullable<Dialect['route']['fingerprint']> = {}): string {
  const also = headers === undefined ? '' : ` and the header ${named(headers)}`;
  return omit === undefined ? also : `${also}, without ${named(omit)}`;
}

/** What is done here. */
function here(dialect: Dialect, fact: Fact): string {
  const { route, operation } = dialect;
  const policy = policyOf(dialect);
  switch (fact) {
    case 'key':
      return `${route.keyIn === undefined ? `header \`${String(route.header)}\`` : placeOf(route.keyIn)}${route.key?.lengthMax === undefined ? '' : `, up to ${route.key.lengthMax} characters`}${route.key?.mode === 'strict' ? ', quoted' : ''}`;
    case '3':
      return route.firstSent === undefined
        ? `with [signed times](../guides/freshness.md) ${said(dialect, fact)}`
        : `${said(dialect, fact)}, ${lengthOf(route.firstSent.windowMs ?? 0)} after it was first sent`;
    case 'required':
      return route.required === true ? 'yes' : 'yes, unless the route says `required: false`';
    case 'uniqueFor':
      return route.keyUniqueFor === undefined
        ? 'as the route says; default the operation of a caller'
        : `the ${route.keyUniqueFor}`;
    case 'compared':
      return `method, path, query and body${comparedOf(route.fingerprint)}; JSON by value`;
    case 'kept':
      return operation.retentionMs === undefined
        ? 'as the route says; default 24 hours'
        : `${lengthOf(operation.retentionMs)}, or longer`;
    case '5':
      return operation.tombstoneMs === undefined
        ? `runs as new; with \`tombstoneMs\` ${said(dialect, fact)}`
        : `${said(dialect, fact)} for ${lengthOf(operation.tombstoneMs)}, then it runs as new`;
    case '7': {
      const lines = profileOf(dialect).replayHeaders.map(([header, value]) => `, \`${header}: ${value}\``);
      return `the first answer${lines.join('')}`;
    }
    case '12':
      return policy === null
        ? 'as the route’s policy says'
        : `5xx: ${AFTER_FAILURE[policy.verdicts.serverError]}; one whose work has rolled back: ${AFTER_FAILURE[policy.verdicts.rolledBack]}`;
    case '14':
      return 'runs';
    default:
      return said(dialect, fact);
  }
}

function said(dialect: Dialect, fact: Fact): string {
  const answer = answerOf(dialect, fact);
  if (answer === null) return '';
  return answer.code === '' ? String(answer.status) : `${answer.status} \`${answer.code}\``;
}

function cell({ dialect, facts }: Spoken, fact: Fact): string {
  const runs = fact === '5' && dialect.operation.tombstoneMs === undefined;
  return `${runs ? 'runs' : answerOf(dialect, fact)?.status}${facts[fact] === undefined ? '°' : ''}`;
}

function table(all: readonly Spoken[]): readonly string[] {
  return [
    `| dialect | ${ROWS.map((row) => `${row} ${FACTS.get(row)}`).join(' | ')} | 12 after a 5xx |`,
    `| --- |${' --- |'.repeat(ROWS.length + 1)}`,
    ...all.map((spoken) => {
      const verdict = policyOf(spoken.dialect)?.verdicts.serverError;
      const after = verdict === undefined ? 'the route’s policy' : AFTER_FAILURE[verdict];
      const mark = spoken.facts['12'] === undefined ? '°' : '';
      const link = `[${spoken.title}](#${anchor(spoken.title)})`;
      return `| ${link} | ${ROWS.map((row) => cell(spoken, row)).join(' | ')} | ${after}${mark} |`;
    }),
  ];
}

function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

function section({ title, exported, dialect, pages, facts, stricter }: Spoken): readonly string[] {
  const rows = [...FACTS.keys()];
  const told = rows.filter((row) => facts[row] !== undefined);
  const open = rows.filter((row) => facts[row] === undefined);
  return [
    `## ${title}`,
    '',
    `\`import { ${exported} } from 'samekey/dialects'\`. ${stated(dialect)}`,
    '',
    '| row | its pages say | here |',
    '| --- | --- | --- |',
    ...told.map((row) => `| ${titleOf(row)} | ${facts[row]} | ${here(dialect, row)} |`),
    '',
    `Not documented: ${open.map((row) => `${titleOf(row)} (${here(dialect, row)})`).join('; ')}.`,
    '',
    ...(stricter.length === 0
      ? []
      : ['Where the contract wins:', '', ...stricter.map((line) => `- ${line}`), '']),
    `Read: ${pages.map(({ url, day }) => `<${url}> (${day})`).join(', ')}.`,
    '',
  ];
}

function titleOf(row: Fact): string {
  return /^\d/.test(row) ? `${row} ${FACTS.get(row)}` : `${FACTS.get(row)}`;
}

function stated({ operation, route }: Dialect): string {
  const names = [...Object.keys(operation), ...Object.keys(route)].map((each) => `\`${each}\``);
  const open = operation.policy === undefined ? ' The route names its policy.' : '';
  return `It states ${names.join(', ')}.${open}`;
}

/** Fails where the page says something else; with SAMEKEY_WRITE=1 the page is written instead. */
export function compareWithPage(all: readonly Spoken[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  expect(from).toBeGreaterThan(BEGIN.length);
  const made = `\n\n${[...table(all), '', ...all.flatMap(section)].join('\n')}\n`;
  if (process.env['SAMEKEY_WRITE'] === '1')
    return writeFileSync(PAGE, page.slice(0, from) + made + page.slice(to));
  expect(page.slice(from, to), 'SAMEKEY_WRITE=1 writes it').toBe(made);
}
