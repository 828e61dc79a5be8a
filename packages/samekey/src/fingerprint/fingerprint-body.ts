/**
 * The body's share of a fingerprint: its content kind, its media type, and what a retry must keep of it.
 *
 * JSON is canonical (F28, F29), forms are decoded fields by name (F106, see field-order.ts), multipart/form-data is its
 * parts likewise (F32), the rest is its bytes. A body that is not what its type says is compared by bytes: that is the
 * handler's to refuse. A charset other than UTF-8 belongs to the media type. Bodies arrive with their content coding
 * removed.
 */
import {
  beginPart,
  type ByteWriter,
  endPart,
  writeBytes,
  writeCount,
  writeText,
  writeTexts,
} from './byte-writer.ts';
import { type Selection, writeCanonicalJson } from './canonical-json.ts';
import { type ContentType, isJson, parseContentType } from './content-type.ts';
import { type Part, parseMultipart } from './multipart.ts';
import { inFieldOrder } from './field-order.ts';
import { fieldOf, pairsOf } from '../core/percent.ts';

/** A selection of members, and the same by names of form fields; undefined where nothing is selected. */
export interface BodySelection {
  readonly json: Selection;
  readonly form: FieldSelection;
  /** Names as byte strings, as multipart heads give them. */
  readonly multipart: FieldSelection;
}

interface FieldSelection {
  readonly pick: ReadonlySet<string> | undefined;
  readonly omit: ReadonlySet<string> | undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

interface FormField {
  readonly name: string;
  readonly value: string;
}

/** The selection of form fields that belongs to one of JSON members: fields are top-level members, and flat. */
export function bodySelection(json: Selection): BodySelection {
  // A path that goes on below a field cannot: such a field is kept whole, as path-tree.ts says.
  const pick = json.pick && [...json.pick.members.keys()];
  const omit = json.omit && [...json.omit.members].filter(([, place]) => place.whole).map(([name]) => name);
  const fields = (spell: (name: string) => string): FieldSelection => ({
    pick: pick && new Set(pick.map(spell)),
    omit: omit && new Set(omit.map(spell)),
  });
  return {
    json,
    form: fields(fieldOf),
    multipart: fields((name) => String.fromCharCode(...encoder.encode(name))),
  };
}

/** Appends the body to the writer: kind, media type, content. */
export function writeBody(
  writer: ByteWriter,
  contentType: string | undefined,
  body: Uint8Array,
  selection: BodySelection,
): void {
  const type = parseContentType(contentType);
  const charset = type.parameters.get('charset')?.toLowerCase() ?? 'utf-8';
  const isUtf8 = charset === 'utf-8' || charset === 'utf8';
  if (isUtf8 && isJson(type.essence) && writeJson(writer, type, body, selection)) return;
  if (isUtf8 && type.essence === 'application/x-www-form-urlencoded' && writeForm(writer, body, selection))
    return;
  if (type.essence === 'multipart/form-data' && writeParts(writer, type, body, selection)) return;
  writeText(writer, 'bytes');
  writeText(writer, isUtf8 ? type.essence : `${type.essence};charset=${charset}`);
  writeBytes(writer, body);
}

function writeJson(
  writer: ByteWriter,
  type: ContentType,
  body: Uint8Array,
  selection: BodySelection,
): boolean {
  const before = writer.length;
  writeText(writer, 'json');
  writeText(writer, type.essence);
  const part = beginPart(writer);
  const isJsonBody = writeCanonicalJson(writer, body, selection.json) === 'canonical';
  if (isJsonBody) endPart(writer, part);
  else writer.length = before;
  return isJsonBody;
}

function writeForm(writer: ByteWriter, body: Uint8Array, selection: BodySelection): boolean {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return false;
  }
  const pairs = pairsOf(text);
  const fields: FormField[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at] ?? '';
    if (isSelected(name, selection.form)) fields.push({ name, value: pairs[at + 1] ?? '' });
  }
  writeText(writer, 'form');
  writeTexts(
    writer,
    inFieldOrder(fields).flatMap(({ name, value }) => [name, value]),
  );
  return true;
}

function writeParts(
  writer: ByteWriter,
  type: ContentType,
  body: Uint8Array,
  selection: BodySelection,
): boolean {
  const parts = parseMultipart(body, type.parameters.get('boundary'));
  if (parts === null) return false;
  const selected = parts.filter((part) => isSelected(part.name, selection.multipart));
  writeText(writer, 'multipart');
  writeCount(writer, selected.length);
  for (const part of inFieldOrder(selected)) writePart(writer, part);
  return true;
}

function writePart(writer: ByteWriter, part: Part): void {
  writeText(writer, part.name);
  writeTexts(writer, part.filename === null ? [] : [part.filename]);
  writeTexts(writer, part.contentType === null ? [] : [part.contentType]);
  writeTexts(writer, part.others);
  writeBytes(writer, part.body);
}

function isSelected(name: string, { pick, omit }: FieldSelection): boolean {
  return pick?.has(name) !== false && omit?.has(name) !== true;
}
