/**
 * Evidence of executions. The service's own word for it, such as a replay marker, is none: what is counted is what the
 * user names.
 *
 * Invariant: without a counter there is no number, and no scenario passes for want of one.
 */

import { jsonOf, valueAt } from './made-bodies.ts';
import { VerifyError } from './error.ts';
import { type Answer, exchange, type Line } from './wire.ts';

/** Where executions are counted; see `VerifyOptions.count`. */
export type Count =
  /** How often the operation has taken effect until now, from anywhere: a database, a provider's sandbox. */
  | (() => number | Promise<number>)
  /** The same from a URL that answers a number, or JSON with a number (or a list, which is counted) at `path`. */
  | { readonly url: string; readonly path?: string; readonly headers?: Readonly<Record<string, string>> }
  /** A member of the JSON answer that differs for each execution, such as `id`. */
  | { readonly field: string };

/** Reads a counter. Throws `VerifyError`. */
export async function readCount(count: Exclude<Count, { readonly field: string }>): Promise<number> {
  let value: unknown;
  try {
    value = typeof count === 'function' ? await count() : await fromUrl(count);
  } catch (error) {
    throw new VerifyError(
      `Executions cannot be counted: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new VerifyError('Executions cannot be counted: what is asked for them gave no number.');
}

async function fromUrl({
  url,
  path,
  headers,
}: {
  readonly url: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}): Promise<unknown> {
  const lines: readonly Line[] = Object.entries(headers ?? {});
  const reply = await exchange({
    url: new URL(url),
    method: 'GET',
    lines,
    body: new Uint8Array(),
    hangUpAfterMs: null,
    timeMaxMs: 10_000,
  });
  if ('none' in reply) throw new Error(`their URL: ${reply.none}`);
  if (reply.status !== 200) throw new Error(`their URL answered ${reply.status}`);
  const json = jsonOf(reply.body);
  const value = path === undefined ? json : valueAt(json, path);
  return Array.isArray(value) ? value.length : value;
}

/** What tells one execution from another in an answer; undefined if it does not have it. */
export function fieldOf(answer: Answer, field: string): string | undefined {
  const value = valueAt(jsonOf(answer.body), field);
  return value === undefined ? undefined : JSON.stringify(value);
}
