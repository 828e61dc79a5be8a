/**
 * As much of PostgreSQL's wire protocol (version 3) as a proxy needs to tell statements apart and to know when one is answered: the
 * text of each statement as it is executed, and the ReadyForQuery that ends its answer. The server sends that one after it
 * has committed, so a swallowed answer was applied.
 *
 * Sources: https://www.postgresql.org/docs/current/protocol-message-formats.html, /protocol-flow.html.
 */

import type { ClientPart, ServerPart, Wire } from './fault-proxy.ts';

const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const CANCEL_REQUEST = 80_877_102;
/** What a server without encryption says. */
const NO = Buffer.from('N');

/** Reads one connection. */
export function postgresWire(): Wire {
  let started = false;
  const fromClient = messagesOf();
  const fromServer = messagesOf();
  /** Texts by the name of the prepared statement; the unnamed one has the empty name. */
  const statements = new Map<string, string>();
  /** What each portal will execute. */
  const portals = new Map<string, string>();

  function begin(bytes: Buffer): ClientPart | undefined {
    const code = bytes.readInt32BE(4);
    if (code === SSL_REQUEST || code === GSS_REQUEST) return { bytes: Buffer.alloc(0), answer: NO };
    started = true;
    return code === CANCEL_REQUEST ? { bytes } : { bytes, ends: true };
  }

  function read(type: string, bytes: Buffer): ClientPart {
    switch (type) {
      case 'Q': {
        return { bytes, statement: textAt(bytes, 5).text, ends: true };
      }
      case 'P': {
        const name = textAt(bytes, 5);
        const query = textAt(bytes, name.next).text;
        statements.set(name.text, `${name.text} ${query}`);
        return { bytes };
      }
      case 'B': {
        const portal = textAt(bytes, 5);
        portals.set(portal.text, statements.get(textAt(bytes, portal.next).text) ?? '');
        return { bytes };
      }
      case 'E':
        return { bytes, statement: portals.get(textAt(bytes, 5).text) ?? '' };
      case 'S':
        return { bytes, ends: true };
      default:
        return { bytes };
    }
  }

  return {
    client(chunk) {
      const parts: ClientPart[] = [];
      for (const bytes of fromClient(chunk, () => !started)) {
        const part = started ? read(String.fromCharCode(bytes[0] ?? 0), bytes) : begin(bytes);
        if (part !== undefined) parts.push(part);
      }
      return parts;
    },
    server: (chunk) =>
      [...fromServer(chunk, () => false)].map((bytes): ServerPart => ({ bytes, ends: bytes[0] === READY })),
  };
}

/** ReadyForQuery. */
const READY = 'Z'.charCodeAt(0);

/** Cuts a stream into messages; `bare` ones (before the session) have no type byte. */
export function messagesOf(): (chunk: Buffer, bare: () => boolean) => Generator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  return function* (chunk, bare) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const typeLength = bare() ? 0 : 1;
      if (rest.length < typeLength + 4) return;
      const end = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      yield message;
    }
  };
}

/** The zero-ended text at a place, and the place after it. */
export function textAt(bytes: Buffer, from: number): { readonly text: string; readonly next: number } {
  const end = bytes.indexOf(0, from);
  return { text: bytes.toString('utf8', from, end), next: end + 1 };
}
