/**
 * Reads a file of records, one at a time: CSV with a header line, or NDJSON. Values come as texts, numbers of JSON too,
 * so that no amount passes through a double.
 *
 * Invariant: a record, not the file, is what is held; one longer than a mebibyte is a fault of the file.
 */

import { createReadStream, type ReadStream } from 'node:fs';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { CliError } from '../cli-error.ts';

/** One record, and the line it begins on. */
export interface FileRecord {
  readonly line: number;
  /** By column; null and what is no text or number is left out. */
  readonly values: ReadonlyMap<string, string>;
}

/** How a file is written. */
export type LedgerFormat = 'csv' | 'ndjson';

const RECORD_BYTES_MAX = 1024 * 1024;

/** Opens the file and reads it. Throws `CliError` naming the file and the line. */
export async function* readRecords(
  path: string,
  format: LedgerFormat,
  delimiter: string,
): AsyncGenerator<FileRecord, undefined> {
  const file = createReadStream(path);
  try {
    await once(file, 'ready');
  } catch (error) {
    throw new CliError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
  }
  try {
    yield* format === 'csv' ? readCsv(path, file, delimiter) : readNdjson(path, file);
  } finally {
    file.destroy();
  }
  return undefined;
}

/** Texts, piece by piece. A letter that is guessed would make two references one, so what is not UTF-8 is refused. */
async function* textsOf(path: string, file: ReadStream): AsyncGenerator<string, undefined> {
  // It leaves a byte order mark out.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new CliError(`${path} is not UTF-8: convert it first (iconv -f ISO-8859-1 -t UTF-8).`);
    }
  };
  for await (const chunk of file as AsyncIterable<Uint8Array>) yield decode(chunk);
  yield decode();
  return undefined;
}

async function* readCsv(path: string, file: ReadStream, delimiter: string): AsyncGenerator<FileRecord> {
  const texts = Readable.from(textsOf(path, file));
  const parser = texts.pipe(
    parse({
      delimiter,
      info: true,
      // Lines of either kind, also in one file: else the first one would decide for all (F156).
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      max_record_size: RECORD_BYTES_MAX,
    }),
  );
  // A fault in the middle of the file must not pass for its end.
  texts.once('error', (error) => parser.destroy(error));
  let header: readonly string[] | null = null;
  let line = 1;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (header === null) header = checkedHeader(path, record);
      else yield { line, values: new Map(header.map((name, at) => [name, record[at] ?? ''])) };
      line = info.lines + 1;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CliError(`${path} is no CSV file from line ${line} on (${error.code}). Is --delimiter right?`);
  } finally {
    texts.destroy();
  }
  if (header === null)
    throw new CliError(`${path} is empty: a CSV file begins with the names of its columns.`);
}

function checkedHeader(path: string, names: readonly string[]): readonly string[] {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new CliError(`${path} has two columns "${twice}".`);
  return names;
}

async function* readNdjson(path: string, file: ReadStream): AsyncGenerator<FileRecord> {
  let line = 0;
  for await (const json of linesOf(path, file)) {
    line += 1;
    if (json.trim() === '') continue;
    yield { line, values: new Map(valuesOf(path, line, json)) };
  }
}

/** Lines without their ends, the last one also if nothing ends it. */
async function* linesOf(path: string, file: ReadStream): AsyncGenerator<string, undefined> {
  let count = 0;
  let begun = '';
  for await (const text of textsOf(path, file)) {
    const lines = (begun + text).split('\n');
    begun = lines.pop() ?? '';
    for (const one of lines) {
      count += 1;
      yield one;
    }
    // Looked at before the end of the line comes: it may never come.
    if (begun.length > RECORD_BYTES_MAX)
      throw new CliError(`Line ${count + 1} of ${path} is longer than a mebibyte.`);
  }
  if (begun !== '') yield begun;
  return undefined;
}

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function valuesOf(path: string, line: number, json: string): [string, string][] {
  let whole: unknown;
  try {
    JSON.parse(json);
    // It is JSON, so outside of texts a digit begins a number: kept as it is written.
    whole = JSON.parse(
      json.replaceAll(TEXT_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`)),
    );
  } catch {
    throw new CliError(`Line ${line} of ${path} is no JSON.`);
  }
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw new CliError(`Line ${line} of ${path} is no JSON object.`);
  return Object.entries(whole).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
