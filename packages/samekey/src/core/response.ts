/**
 * An answer, as it is stored and replayed: status, header lines in order with repeats, and the bytes of the body.
 */

/** One header line: name as the handler spelt it, and value. */
export type HeaderLine = readonly [name: string, value: string];

/** The stored answer of a finished attempt. */
export interface StoredResponse {
  /** HTTP status, 200–599. */
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  /** The exact bytes; empty for an empty body; null when the body was not kept (too large, streamed). */
  readonly body: Uint8Array | null;
  /** Trailer fields, if any were sent. */
  readonly trailers?: readonly HeaderLine[];
}

const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();

/** Builds an answer: `body` is text (UTF-8), bytes or nothing. */
export function response(
  status: number,
  headers: readonly HeaderLine[] = [],
  body?: Uint8Array | string,
): StoredResponse {
  return {
    status,
    headers,
    body: body === undefined ? EMPTY : typeof body === 'string' ? encoder.encode(body) : body,
  };
}

/** An answer of ours that is kept in a record: a problem document of no special type (RFC 9457 §4.2.1). */
export function problemResponse(status: number, code: string, detail: string): StoredResponse {
  const problem = { type: 'about:blank', status, code, detail };
  return response(status, [['Content-Type', 'application/problem+json']], JSON.stringify(problem));
}

/** Whether two stored answers are equal to the byte. */
export function sameResponse(a: StoredResponse | null, b: StoredResponse | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.status === b.status &&
    sameLines(a.headers, b.headers) &&
    sameLines(a.trailers ?? [], b.trailers ?? []) &&
    sameBytes(a.body, b.body)
  );
}

function sameLines(a: readonly HeaderLine[], b: readonly HeaderLine[]): boolean {
  return a.length === b.length && a.every((line, i) => line[0] === b[i]?.[0] && line[1] === b[i][1]);
}

/** Whether both are the same bytes, or both are none. */
export function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Roughly how many bytes an answer takes. */
export function responseBytes(answer: StoredResponse | null): number {
  if (answer === null) return 0;
  let bytes = answer.body?.length ?? 0;
  for (const [name, value] of answer.headers) bytes += name.length + value.length;
  return bytes;
}
