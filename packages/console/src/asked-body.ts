/** What a request says, as JSON: read up to a bound, so that no request takes the memory of whoever is asked. */

import { REASON_LENGTH_MAX } from 'samekey/internals/store/audit';
import { ConsoleFault } from './fault.ts';

/** An answer that is settled by hand may be long; more than this nobody types. */
const BODY_MAX_BYTES = 1024 * 1024;

/** Reads it. Throws `ConsoleFault` for what is no object of JSON, or too long. */
export async function readBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await readText(request);
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new ConsoleFault(400, 'bad-request', 'The body is no JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConsoleFault(400, 'bad-request', 'The body must be an object.');
  return value as Readonly<Record<string, unknown>>;
}

async function readText(request: Request): Promise<string> {
  const reader = request.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > BODY_MAX_BYTES) {
      await reader.cancel();
      throw new ConsoleFault(413, 'too-large', `The body has more than ${BODY_MAX_BYTES} bytes.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A text that may be there. */
export function textOf(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new ConsoleFault(400, 'bad-request', `${name} must be a text.`);
}

/** A character that somebody sees: no blank, no mark of direction, none that takes no place. */
const SEEN = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Why somebody acts. Throws `ConsoleFault` where it does not say. */
export function reasonOf(body: Readonly<Record<string, unknown>>): string {
  const reason = textOf(body, 'reason');
  if (reason === undefined || !SEEN.test(reason))
    throw new ConsoleFault(400, 'no-reason', 'Say why, for the audit: without a reason nothing is done.');
  if (reason.length > REASON_LENGTH_MAX)
    throw new ConsoleFault(400, 'no-reason', `A reason has at most ${REASON_LENGTH_MAX} characters.`);
  return reason;
}

/** What must be an object. Throws `ConsoleFault`. */
export function objectOf(
  body: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  const value = body[name];
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new ConsoleFault(400, 'bad-request', `${name} must be an object.`);
}
