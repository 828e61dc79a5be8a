/**
 * The errors of APIs that are known, told by data: a body with names where values go, and by case what the provider's
 * pages say of status, code and words. What they do not say is told in our own words and the provider's spelling.
 */

import { helpOf } from '../../core/errors.ts';
import { type HeaderLine, response, type StoredResponse } from '../../core/response.ts';
import { pointerOf } from '../../core/schema.ts';
import { retryAfterSeconds } from '../headers.ts';
import { type ProblemCode, problemCode, problemOf, type ProblemOutcome } from '../problem.ts';
import type { Profile } from '../profile.ts';

/** A body: the texts `$status`, `$code`, `$type`, `$message` and `$param` stand for values, others for themselves. */
export type EnvelopeBody =
  | string
  | number
  | readonly EnvelopeBody[]
  | { readonly [name: string]: EnvelopeBody };

/** What a provider's pages say of a case. */
export interface EnvelopeCase {
  readonly status?: number;
  readonly code?: string;
  readonly type?: string;
  readonly message?: string;
  /** The member that it is about. */
  readonly param?: string;
  /** Header lines in the place of `errorHeaders`. */
  readonly headers?: readonly HeaderLine[];
}

/** How a provider tells errors. */
export interface Envelope {
  readonly name: string;
  readonly body: EnvelopeBody;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** How codes are spelt that the provider does not have: as `key_reused` (default), `KEY_REUSED` or `KeyReused`. */
  readonly spelling?: 'key_reused' | 'KEY_REUSED' | 'KeyReused';
  /** What `$type` is, by status or by its class (`4xx`, `5xx`). */
  readonly types?: Readonly<Record<number | '4xx' | '5xx', string>>;
  /** By our code; `key-malformed` stands for those of its faults that are not named. */
  readonly cases?: Readonly<Partial<Record<ProblemCode | 'key-malformed', EnvelopeCase>>>;
  /** Header lines of a replay. */
  readonly replayHeaders?: readonly HeaderLine[];
  /** Header lines of every answer of the handler, now or earlier. */
  readonly handlerHeaders?: readonly HeaderLine[];
  /** Header lines of every answer in the handler's place. */
  readonly errorHeaders?: readonly HeaderLine[];
  /** The header in which the key comes back. */
  readonly keyHeader?: string;
  /** The header that is `true` where the same request may succeed later. */
  readonly retryHeader?: string;
}

/** Makes a profile of it. */
export function envelope(spec: Envelope): Profile {
  const { keyHeader: echo, retryHeader, handlerHeaders = [] } = spec;
  return {
    name: spec.name,
    replayHeaders: spec.replayHeaders ?? [],
    ...((echo !== undefined || retryHeader !== undefined || handlerHeaders.length > 0) && {
      answerHeaders: ({ status, isFinal, key }) => [
        ...handlerHeaders,
        ...(echo === undefined ? [] : ([[echo, key]] as const)),
        ...(retryHeader === undefined || status < 400 || isFinal !== false
          ? []
          : ([[retryHeader, 'true']] as const)),
      ],
    }),
    render: (outcome, keyHeader) => rendered(spec, outcome, keyHeader),
  };
}

function rendered(spec: Envelope, outcome: ProblemOutcome, keyHeader: string | undefined): StoredResponse {
  const code = problemCode(outcome);
  const problem = problemOf(code, keyHeader);
  const said =
    spec.cases?.[code] ?? (outcome.kind === 'key-malformed' ? spec.cases?.['key-malformed'] : undefined);
  const status = said?.status ?? problem.status;
  const headers: HeaderLine[] = [
    ['Content-Type', status < 400 ? 'application/json' : (spec.contentType ?? 'application/json')],
    // RFC 9111 §5.2.2.5: none of these answers may be kept by a cache.
    ['Cache-Control', 'no-store'],
    ['Link', `<${helpOf(code)}>; rel="help"`],
  ];
  headers.push(...(said?.headers ?? spec.errorHeaders ?? []));
  if (spec.retryHeader !== undefined && problem.retryable) headers.push([spec.retryHeader, 'true']);
  if ('retryAfterMs' in outcome) headers.push(['Retry-After', retryAfterSeconds(outcome.retryAfterMs)]);
  if (outcome.kind === 'response-not-stored' && outcome.location !== null)
    headers.push(['Location', outcome.location]);
  const [issue] = outcome.kind === 'request-invalid' ? outcome.issues : [];
  const message = said?.message ?? issue?.message ?? ('detail' in outcome ? outcome.detail : problem.detail);
  const values: Readonly<Record<string, string | number | undefined>> = {
    $status: status,
    $code: said?.code ?? spelt(code, spec.spelling),
    $type: said?.type ?? typeOf(spec.types, status),
    $message: message,
    $param: said?.param ?? (issue === undefined ? undefined : pointerOf(issue).slice(1)),
  };
  // An acceptance is no error.
  const body = status < 400 ? { code, message } : filled(spec.body, values);
  return response(status, headers, `${JSON.stringify(body)}\n`);
}

function typeOf(types: Envelope['types'], status: number): string | undefined {
  return types?.[status] ?? types?.[status < 500 ? '4xx' : '5xx'];
}

function spelt(code: ProblemCode, spelling: Envelope['spelling']): string {
  if (spelling === 'KeyReused')
    return code.replaceAll(/(?:^|-)(\w)/g, (_all, letter: string) => letter.toUpperCase());
  const lower = code.replaceAll('-', '_');
  return spelling === 'KEY_REUSED' ? lower.toUpperCase() : lower;
}

/** The body with values in place; a member whose value is not known is left out. */
function filled(body: EnvelopeBody, values: Readonly<Record<string, string | number | undefined>>): unknown {
  if (typeof body === 'string') return body.startsWith('$') ? values[body] : body;
  if (typeof body === 'number') return body;
  if (Array.isArray(body)) return (body as readonly EnvelopeBody[]).map((each) => filled(each, values));
  return Object.fromEntries(Object.entries(body).map(([name, each]) => [name, filled(each, values)]));
}
