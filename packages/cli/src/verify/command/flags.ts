/** From the flags of `samekey verify` to the options of `verify`. */

import { exec } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { CliError } from '../../cli-error.ts';
import type { Count, Hold, ProfileName, VerifyOptions } from '../index.ts';

/** The flags, as Commander gives them. */
export interface VerifyFlags {
  readonly method: string;
  readonly body: string;
  readonly otherBody?: string;
  readonly header: readonly string[];
  readonly tenantB: readonly string[];
  readonly rotated: readonly string[];
  readonly countUrl?: string;
  readonly countPath?: string;
  readonly countCommand?: string;
  readonly countField?: string;
  /** In milliseconds. */
  readonly settle?: number;
  readonly holdParam: readonly string[];
  readonly holdHeader: readonly string[];
  readonly holdBody?: string;
  readonly otherUrl?: string;
  readonly getUrl?: string;
  readonly refusedBody?: string;
  readonly failingBody?: string;
  readonly failingExpect: 'retried' | 'replayed' | 'unknown';
  /** In milliseconds, as is `timeMax`. */
  readonly expires?: number;
  readonly storeDownCommand?: string;
  readonly storeUpCommand?: string;
  readonly keyOptional?: true;
  readonly keyHeader: string;
  readonly markerHeader?: string;
  readonly ignoreHeader: readonly string[];
  readonly profile: ProfileName;
  readonly only?: string;
  readonly skip?: string;
  readonly rate: string;
  readonly race: string;
  readonly timeMax: number;
}

/** Reads them. Throws `CliError` for what makes no sense. */
export function optionsOf(url: string, flags: VerifyFlags): VerifyOptions {
  const headers = headersOf('--header', flags.header);
  const count = countOf(flags, headers, URL.canParse(url) ? new URL(url).origin : '');
  const hold = holdOf(flags);
  const { storeDownCommand: down, storeUpCommand: up } = flags;
  if ((down === undefined) !== (up === undefined))
    throw new CliError(
      '--store-down-command and --store-up-command go together: what is taken away is given back.',
    );
  return {
    url,
    method: flags.method,
    headers,
    body: bodyOf(flags.body),
    profile: flags.profile,
    isKeyRequired: flags.keyOptional !== true,
    keyHeader: flags.keyHeader,
    ignoreHeaders: flags.ignoreHeader,
    rateMax: Number(flags.rate),
    raceSize: Number(flags.race),
    timeMaxMs: flags.timeMax,
    ...(flags.otherBody !== undefined && { otherBody: bodyOf(flags.otherBody) }),
    ...(flags.tenantB.length > 0 && { tenantB: headersOf('--tenant-b', flags.tenantB) }),
    ...(flags.rotated.length > 0 && { rotated: headersOf('--rotated', flags.rotated) }),
    ...(count !== undefined && { count }),
    ...(flags.settle !== undefined && { settleMs: flags.settle }),
    ...(hold !== undefined && { hold }),
    ...(flags.otherUrl !== undefined && { otherUrl: flags.otherUrl }),
    ...(flags.getUrl !== undefined && { getUrl: flags.getUrl }),
    ...(flags.refusedBody !== undefined && { refusedBody: bodyOf(flags.refusedBody) }),
    ...(flags.failingBody !== undefined && {
      failing: { body: bodyOf(flags.failingBody), expect: flags.failingExpect },
    }),
    ...(flags.expires !== undefined && { expiresMs: flags.expires }),
    ...(down !== undefined &&
      up !== undefined && {
        store: {
          down: async () => void (await output('--store-down-command', down)),
          up: async () => void (await output('--store-up-command', up)),
        },
      }),
    ...(flags.markerHeader !== undefined && { markerHeader: flags.markerHeader }),
    ...(flags.only !== undefined && { only: flags.only.split(',') }),
    ...(flags.skip !== undefined && { skip: flags.skip.split(',') }),
  };
}

function countOf(
  flags: VerifyFlags,
  headers: Readonly<Record<string, string>>,
  origin: string,
): Count | undefined {
  const { countUrl, countCommand, countField, countPath } = flags;
  if ([countUrl, countCommand, countField].filter((one) => one !== undefined).length > 1)
    throw new CliError('Executions are counted in one way: --count-url, --count-command or --count-field.');
  if (countField !== undefined) return { field: countField };
  if (countCommand !== undefined)
    return async () => Number((await output('--count-command', countCommand)).trim() || Number.NaN);
  if (countUrl === undefined) return undefined;
  // A credential goes to its own origin only.
  const isOwn = URL.canParse(countUrl) && new URL(countUrl).origin === origin;
  return { url: countUrl, ...(isOwn && { headers }), ...(countPath !== undefined && { path: countPath }) };
}

function holdOf({ holdParam, holdHeader, holdBody }: VerifyFlags): Hold | undefined {
  if (holdParam.length === 0 && holdHeader.length === 0 && holdBody === undefined) return undefined;
  return {
    query: Object.fromEntries(holdParam.map((text) => split('--hold-param', text, '='))),
    headers: headersOf('--hold-header', holdHeader),
    ...(holdBody !== undefined && { body: bodyOf(holdBody) }),
  };
}

function headersOf(flag: string, lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(lines.map((line) => split(flag, line, ':')));
}

/** Never says the value: it may be a credential. */
function split(flag: string, text: string, at: ':' | '='): readonly [string, string] {
  const index = text.indexOf(at);
  if (index > 0) return [text.slice(0, index).trim(), text.slice(index + 1).trim()];
  throw new CliError(
    `${flag} is "name${at === ':' ? ': ' : at}value"; there is no "${at}" in what was given.`,
  );
}

function bodyOf(text: string): () => string {
  return () => text.replaceAll('{{uuid}}', () => randomUUID());
}

const COMMAND_TIME_MAX_MS = 30_000;

/** What a command of the user's prints. */
async function output(flag: string, command: string): Promise<string> {
  try {
    return (await promisify(exec)(command, { timeout: COMMAND_TIME_MAX_MS })).stdout;
  } catch (error) {
    throw new CliError(`${flag} failed: ${(error as Error).message.split('\n')[0] ?? ''}`);
  }
}
