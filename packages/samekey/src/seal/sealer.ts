/**
 * Seals and opens the parts of records and messages.
 *
 * Invariants: the associated data names scope, key and part (of a message its id and topic), so a part moved to another
 * row or column does not open · status, reason, times and whether a body was kept stay clear: the state table and
 * operators need them · what is clear is given back as it is · what cannot be opened is never an exception: it is null,
 * and `unreadable` says why.
 */

import { StoreError } from '../core/errors.ts';
import type { NewMessage, StoredMessage } from '../store/message.ts';
import type { RecordId, SamekeyRecord, Unreadable } from '../core/record.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import { SEALED_LINE } from '../store/seal-marks.ts';
import type { FinishRequest, SettleRequest } from '../store/store.ts';
import { envelopeBytes, envelopeText, sealInBytes, sealInText } from './envelope.ts';
import { after, isPromise, type Maybe } from './maybe.ts';
import type { Seal, SealRing } from './ring.ts';

/** A part that was opened: its bytes, or why not. */
type Opened = Uint8Array | Unreadable;
type Part = Unreadable['part'];

/** Seals and opens parts. */
export interface Sealer {
  response(id: RecordId, response: StoredResponse | null): Maybe<StoredResponse | null>;
  steps<Steps extends string | null>(id: RecordId, steps: Steps): Maybe<Steps | string>;
  input(id: RecordId, input: Uint8Array | null): Maybe<Uint8Array | null>;
  message(message: NewMessage): Maybe<NewMessage>;
  /** What is kept of a reference; undefined where the ring cannot digest it: then nothing is. */
  reference(reference: string): Maybe<string | undefined>;
  /** All that may be kept of one: of before it was sealed, too. */
  references(reference: string): Maybe<readonly string[]>;
  openSteps(id: RecordId, steps: string | null): Maybe<string | null | Unreadable>;
  openRecord(record: SamekeyRecord): Maybe<SamekeyRecord>;
  openMessage<Message extends StoredMessage>(message: Message): Maybe<Message>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Makes the sealer of a ring. */
export function createSealer(ring: SealRing): Sealer {
  function seal(bytes: Uint8Array, about: readonly unknown[]): Maybe<Seal> {
    try {
      const sealed = ring.seal(bytes, associatedData(about));
      return isPromise(sealed) ? sealed.catch((error: unknown) => Promise.reject(notSealed(error))) : sealed;
    } catch (error) {
      throw notSealed(error);
    }
  }

  function open({ keyId, bytes }: Seal, part: Part, about: readonly unknown[]): Maybe<Opened> {
    const asOpened = (opened: Uint8Array | null): Opened => opened ?? { part, keyId, cause: 'missing-key' };
    const broken = (): Opened => ({ part, keyId, cause: 'broken-seal' });
    if (keyId === '') return broken();
    try {
      const opened = ring.open(keyId, bytes, associatedData(about));
      return isPromise(opened) ? opened.then(asOpened, broken) : asOpened(opened);
    } catch {
      return broken();
    }
  }

  function openText(
    value: string | null,
    part: Part,
    about: readonly unknown[],
  ): Maybe<string | null | Unreadable> {
    const sealed = value === null ? null : sealInText(value);
    if (sealed === null) return value;
    return after(open(sealed, part, about), (opened) => (isBytes(opened) ? decoder.decode(opened) : opened));
  }

  function openInput(id: RecordId, input: Uint8Array | null): Maybe<Opened | null> {
    const sealed = input === null ? null : sealInBytes(input);
    return sealed === null ? input : open(sealed, 'input', ofRecord('input', id));
  }

  function openResponse(
    id: RecordId,
    response: StoredResponse | null,
  ): Maybe<StoredResponse | null | Unreadable> {
    const sealed = sealOfResponse(response);
    if (response === null || sealed === null) return response;
    const { status, body } = response;
    return after(open(sealed, 'response', ofResponse(id, status, body !== null)), (opened) =>
      isBytes(opened) ? unpacked(status, opened, body !== null) : opened,
    );
  }

  function digests(reference: string): Maybe<readonly string[]> {
    if (ring.digests === undefined) return [];
    try {
      const made = after(ring.digests(encoder.encode(reference)), (all) => all.map(base64url));
      return isPromise(made) ? made.catch((error: unknown) => Promise.reject(notSealed(error))) : made;
    } catch (error) {
      throw notSealed(error);
    }
  }

  const sealer: Sealer = {
    response(id, response) {
      if (response === null) return null;
      const { status, body } = response;
      return after(seal(packed(response), ofResponse(id, status, body !== null)), (sealed) =>
        body === null
          ? { status, headers: [[SEALED_LINE, envelopeText(sealed)]], body }
          : { status, headers: [[SEALED_LINE, '']], body: envelopeBytes(sealed) },
      );
    },
    steps: (id, steps) =>
      steps === null ? steps : after(seal(encoder.encode(steps), ofRecord('steps', id)), envelopeText),
    input: (id, input) => (input === null ? null : after(seal(input, ofRecord('input', id)), envelopeBytes)),
    reference: (reference) => after(digests(reference), ([first]) => first),
    references: (reference) => after(digests(reference), (all) => [reference, ...all]),
    message(message) {
      const { headers, reference } = message;
      const payload = after(
        seal(encoder.encode(message.payload), ofMessage('payload', message)),
        envelopeText,
      );
      const lines =
        headers === null
          ? null
          : after(seal(encoder.encode(headers), ofMessage('headers', message)), envelopeText);
      const kept = reference === undefined ? undefined : sealer.reference(reference);
      return after(payload, (text) =>
        after(lines, (line) =>
          after(kept, (digest) => ({ ...message, payload: text, headers: line, reference: digest })),
        ),
      );
    },
    openSteps: (id, steps) => openText(steps, 'steps', ofRecord('steps', id)),
    openRecord(record) {
      const sealKeyId = sealKeyIdsOf(record).keyIds[0];
      if (sealKeyId === undefined) return record;
      return after(openResponse(record, record.response), (response) =>
        after(sealer.openSteps(record, record.steps), (steps) =>
          after(openInput(record, record.input), (input) => {
            const unreadable = [response, steps, input].find(isUnreadable);
            return Object.freeze<SamekeyRecord>({
              ...record,
              sealKeyId,
              response: isUnreadable(response) ? null : response,
              steps: isUnreadable(steps) ? null : steps,
              input: isUnreadable(input) ? null : input,
              ...(unreadable !== undefined && { unreadable }),
            });
          }),
        ),
      );
    },
    openMessage(message) {
      return after(openText(message.payload, 'payload', ofMessage('payload', message)), (payload) =>
        after(openText(message.headers, 'headers', ofMessage('headers', message)), (headers) => {
          const unreadable = [payload, headers].find(isUnreadable);
          if (unreadable !== undefined) return { ...message, payload: 'null', headers: null, unreadable };
          return { ...message, payload: payload as string, headers: headers as string | null };
        }),
      );
    },
  };
  return sealer;
}

/** Opens, and leaves what is new as it is. */
export function readingOnly(sealer: Sealer): Sealer {
  return {
    ...sealer,
    response: (_id, response) => response,
    steps: (_id, steps) => steps,
    input: (_id, input) => input,
    message: (message) => message,
    reference: (reference) => reference,
  };
}

/** The same request with its answer sealed. */
export function sealAnswer<Request extends FinishRequest | SettleRequest>(
  sealer: Sealer,
  request: Request,
): Maybe<Request> {
  return after(sealer.response(request, request.response), (response) => ({ ...request, response }));
}

/**
 * How many parts a record has as it stands in the store, and the key's id of each that is sealed: that of the answer
 * first.
 */
export function sealKeyIdsOf({ response, steps, input }: SamekeyRecord): {
  readonly parts: number;
  readonly keyIds: readonly string[];
} {
  const parts = [
    ...(response === null ? [] : [sealOfResponse(response)]),
    ...(steps === null ? [] : [sealInText(steps)]),
    ...(input === null ? [] : [sealInBytes(input)]),
  ];
  return { parts: parts.length, keyIds: parts.flatMap((each) => (each === null ? [] : [each.keyId])) };
}

/** The keys' ids of a message, as it stands in the store. */
export function sealKeyIdsOfMessage({ payload, headers }: StoredMessage): readonly string[] {
  const seals = [sealInText(payload), headers === null ? null : sealInText(headers)];
  return [...new Set(seals.flatMap((each) => (each === null ? [] : [each.keyId])))];
}

function sealOfResponse(response: StoredResponse | null): Seal | null {
  const [line] = response?.headers ?? [];
  if (response === null || line === undefined || line[0] !== SEALED_LINE) return null;
  // Marked as sealed, it is never taken for clear, whatever somebody has put there.
  return (response.body === null ? sealInText(line[1]) : sealInBytes(response.body)) ?? NO_SEAL;
}

const NO_SEAL: Seal = { keyId: '', bytes: new Uint8Array(0) };

/** Header lines and trailers as JSON behind its length, then the body. */
function packed({ headers, trailers, body }: StoredResponse): Uint8Array {
  const head = encoder.encode(JSON.stringify([headers, trailers ?? null]));
  const bytes = new Uint8Array(4 + head.length + (body?.length ?? 0));
  new DataView(bytes.buffer).setUint32(0, head.length);
  bytes.set(head, 4);
  if (body !== null) bytes.set(body, 4 + head.length);
  return bytes;
}

function unpacked(status: number, bytes: Uint8Array, keptBody: boolean): StoredResponse {
  const end = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const [headers, trailers] = JSON.parse(decoder.decode(bytes.subarray(4, end))) as [
    HeaderLine[],
    HeaderLine[] | null,
  ];
  return {
    status,
    headers,
    body: keptBody ? bytes.slice(end) : null,
    ...(trailers !== null && { trailers }),
  };
}

/** JSON, so that no text of one place can be taken for two. */
function associatedData(about: readonly unknown[]): Uint8Array {
  return encoder.encode(JSON.stringify(['samekey-seal', 1, ...about]));
}

function ofRecord(part: Part, { scope, key }: RecordId): readonly unknown[] {
  return [part, scope, key];
}

function ofResponse(id: RecordId, status: number, keptBody: boolean): readonly unknown[] {
  return [...ofRecord('response', id), status, keptBody];
}

function ofMessage(part: Part, { id, topic }: Pick<NewMessage, 'id' | 'topic'>): readonly unknown[] {
  return [part, id, topic];
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}

function isBytes(opened: Opened): opened is Uint8Array {
  return opened instanceof Uint8Array;
}

function isUnreadable(part: unknown): part is Unreadable {
  return typeof part === 'object' && part !== null && 'cause' in part && 'keyId' in part;
}

function notSealed(cause: unknown): StoreError {
  return new StoreError('What was to be stored could not be sealed, so nothing was stored: see the cause.', {
    applied: 'no',
    cause,
  });
}
