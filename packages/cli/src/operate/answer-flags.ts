/** The answer that an operator gives a settled key, as retries will get it. */

import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { HeaderLine, StoredResponse } from 'samekey';
import { CliError, messageOf } from '../cli-error.ts';

/** What the options say of it. */
export interface AnswerFlags {
  readonly status?: number;
  readonly header?: readonly HeaderLine[];
  readonly body?: string;
  readonly bodyFile?: string;
}

/** Adds the options. */
export function withAnswer(command: Command): Command {
  return command
    .option('--status <status>', 'the answer that retries get: its HTTP status', status)
    .option('--header <line>', 'a header line of it, "Name: value"; may be repeated', header, [])
    .option('--body <text>', 'its body')
    .option('--body-file <path>', 'its body, byte by byte')
    .addHelpText(
      'after',
      '\nWithout --body or --body-file retries get 410, with the status and Location: the answer is lost, the effect is not.',
    );
}

/** The answer. Throws `CliError` for options that contradict each other. */
export function answerOf(
  to: 'completed' | 'failed' | 'retryable',
  { status: code, header: lines = [], body, bodyFile }: AnswerFlags,
): StoredResponse | null {
  if (to === 'retryable') {
    if (code !== undefined || body !== undefined || bodyFile !== undefined || lines.length > 0)
      throw new CliError(
        '--to retryable has no answer: the next request runs. Leave --status, --header and --body out.',
      );
    return null;
  }
  if (code === undefined) throw new CliError(`--to ${to} needs the --status that retries get.`);
  const isError = code >= 400;
  if (isError !== (to === 'failed')) {
    throw new CliError(
      `--to ${to} goes with a status ${to === 'failed' ? 'of 400 or more' : 'below 400'}; it is ${code}.`,
    );
  }
  if (body !== undefined && bodyFile !== undefined)
    throw new CliError('--body and --body-file are two bodies: pass one.');
  const bytes =
    body === undefined
      ? bodyFile === undefined
        ? null
        : readBody(bodyFile)
      : new TextEncoder().encode(body);
  const isTyped = lines.some(([name]) => name.toLowerCase() === 'content-type');
  const type: readonly HeaderLine[] =
    bytes === null || bytes.length === 0 || isTyped ? [] : [['Content-Type', typeOf(bytes)]];
  return { status: code, headers: [...type, ...lines], body: bytes };
}

function readBody(path: string): Uint8Array {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    throw new CliError(`The body cannot be read from ${path}: ${messageOf(error)}.`);
  }
}

/** Most answers are JSON; what is not can be told by --header. */
function typeOf(bytes: Uint8Array): string {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}

function status(text: string): number {
  const code = Number(text);
  if (/^\d{3}$/.test(text) && code >= 200 && code <= 599) return code;
  throw new InvalidArgumentError('It must be a status from 200 to 599.');
}

function header(line: string, before: readonly HeaderLine[]): readonly HeaderLine[] {
  // RFC 9110 §5: once stored, a line that no server sends would fail every answer of the key.
  const [, name, value] =
    /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\u0020-\u007e\u0080-\u00ff]*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be "Name: value".');
  return [...before, [name, value]];
}
