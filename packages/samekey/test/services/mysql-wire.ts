/**
 * As much of the protocol of MySQL and MariaDB as a proxy needs to tell statements apart and to know when one is answered: the text of each
 * statement, also of a prepared one as it is executed, and the packet that ends its answer. The server sends that one after it has
 * committed, so a swallowed answer was applied. Neither TLS nor compression.
 *
 * Sources: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html, https://mariadb.com/kb/en/clientserver-protocol/.
 */

import type { ClientPart, ServerPart, Wire } from './fault-proxy.ts';

/** Commands, by their first byte. */
const COMMAND = { query: 0x03, changeUser: 0x11, prepare: 0x16, execute: 0x17, bulk: 0xfa } as const;
/** Quit, a part of a long parameter, the end of a prepared statement: nobody answers. */
const UNANSWERED: ReadonlySet<number> = new Set([0x01, 0x18, 0x19]);
const [OK, EOF, ERR] = [0x00, 0xfe, 0xff];
const DEPRECATE_EOF = 1 << 24;
const QUERY_ATTRIBUTES = 1 << 27;
const MORE_RESULTS = 0x08;
const PACKET_MAX = 0xff_ff_ff;
/** By which MariaDB's client means the statement that it has prepared in the same breath. */
const LAST_PREPARED = 0xff_ff_ff_ff;
/** Of a statement; bodies come behind it. */
const TEXT_MAX = 8_192;

/** An answer that is still to come. */
interface Expected {
  readonly kind: 'one' | 'result' | 'prepare' | 'login';
  readonly text: string;
  /** Definitions of columns that are still to come, each with an EOF behind them or not. */
  definitions: number;
  stage: 'head' | 'definitions' | 'rows';
}

/** Reads one connection. */
export function mysqlWire(): Wire {
  const [fromClient, fromServer] = [packetsOf(), packetsOf()];
  let serverFlags = 0;
  let hasEof = true;
  /** Bytes between the command and its text: of MySQL 8, that there are no attributes, in one set. */
  let beforeText = 0;
  let greeted = false;
  let loggedIn = false;
  const expected: Expected[] = [];
  const prepared = new Map<number, string>();
  let lastPrepared = '';

  function expect(kind: Expected['kind'], text = ''): void {
    expected.push({ kind, text, definitions: 0, stage: 'head' });
  }

  function read(bytes: Buffer, isFirst: boolean): ClientPart {
    if (!loggedIn || expected.some(({ kind }) => kind === 'login')) {
      // The answer of the client to the greeting begins with what both can do.
      if (!loggedIn && isFirst && bytes.length > 12 && bytes[3] === 1) {
        const flags = bytes.readUInt32LE(4) & serverFlags;
        hasEof = (flags & DEPRECATE_EOF) === 0;
        beforeText = (flags & QUERY_ATTRIBUTES) === 0 ? 0 : 2;
      }
      return { bytes };
    }
    // The rest of a command above 16 MiB.
    if (!isFirst) return { bytes };
    const command = bytes[4] ?? 0;
    if (UNANSWERED.has(command)) return { bytes };
    if (command === COMMAND.query) {
      expect('result');
      const from = 5 + beforeText;
      return { bytes, statement: bytes.toString('utf8', from, from + TEXT_MAX), ends: true };
    }
    if (command === COMMAND.prepare) {
      const text = bytes.toString('utf8', 5, 5 + TEXT_MAX);
      lastPrepared = text;
      expect('prepare', text);
      return { bytes, ends: true };
    }
    if (command === COMMAND.execute || command === COMMAND.bulk) {
      const id = bytes.readUInt32LE(5);
      expect('result');
      const statement = id === LAST_PREPARED ? lastPrepared : (prepared.get(id) ?? '');
      return { bytes, statement, ends: true };
    }
    expect(command === COMMAND.changeUser ? 'login' : 'one');
    return { bytes, ends: true };
  }

  function greet(bytes: Buffer): void {
    greeted = true;
    if (bytes[4] !== 0x0a) return;
    const flags = bytes.indexOf(0, 5) + 1 + 4 + 8 + 1;
    serverFlags = bytes.readUInt16LE(flags) | (bytes.readUInt16LE(flags + 5) << 16);
  }

  /** Whether this packet is the last of the answer that is due. */
  function ends(bytes: Buffer): boolean {
    const head = bytes[4] ?? 0;
    if (!greeted) greet(bytes);
    else if (!loggedIn) loggedIn = head === OK;
    const [due] = expected;
    if (due === undefined) return false;
    const isOver = isLast(due, bytes, head);
    if (isOver) expected.shift();
    return isOver;
  }

  function isLast(due: Expected, bytes: Buffer, head: number): boolean {
    if (head === ERR && due.stage !== 'definitions') return true;
    if (due.kind === 'one') return true;
    if (due.kind === 'login') return head === OK;
    if (due.stage === 'definitions') {
      due.definitions -= 1;
      if (due.definitions > 0) return false;
      due.stage = 'rows';
      return due.kind === 'prepare';
    }
    if (due.stage === 'rows') {
      if (head !== EOF || bytes.length - 4 >= PACKET_MAX) return false;
      return isEnd(due, bytes, hasEof ? bytes.readUInt16LE(7) : statusOf(bytes));
    }
    if (due.kind === 'prepare') {
      prepared.set(bytes.readUInt32LE(5), due.text);
      for (const count of [bytes.readUInt16LE(9), bytes.readUInt16LE(11)])
        if (count > 0) due.definitions += count + (hasEof ? 1 : 0);
      due.stage = 'definitions';
      return due.definitions === 0;
    }
    if (head === OK) return isEnd(due, bytes, statusOf(bytes));
    const [columns, next] = numberAt(bytes, 4);
    // MariaDB tells behind the number whether definitions come that the client may know already.
    due.definitions = next < bytes.length && bytes[next] === 0 ? 0 : columns + (hasEof ? 1 : 0);
    due.stage = due.definitions === 0 ? 'rows' : 'definitions';
    return false;
  }

  return {
    client: (chunk) => [...fromClient(chunk)].map(([bytes, isFirst]) => read(bytes, isFirst)),
    server: (chunk) =>
      [...fromServer(chunk)].map(([bytes, isFirst]): ServerPart => ({ bytes, ends: isFirst && ends(bytes) })),
  };
}

/** After more results to come the same answer goes on. */
function isEnd(due: Expected, _bytes: Buffer, status: number): boolean {
  if ((status & MORE_RESULTS) === 0) return true;
  due.stage = 'head';
  return false;
}

/** Of an OK packet: behind the numbers of rows and of the last id. */
function statusOf(bytes: Buffer): number {
  const [, rows] = numberAt(bytes, 5);
  const [, id] = numberAt(bytes, rows);
  return bytes.readUInt16LE(id);
}

/** A number of one to nine bytes, and the place behind it. */
function numberAt(bytes: Buffer, at: number): readonly [value: number, next: number] {
  const first = bytes[at] ?? 0;
  if (first < 0xfb) return [first, at + 1];
  const length = first === 0xfc ? 2 : first === 0xfd ? 3 : 6;
  return [bytes.readUIntLE(at + 1, length), at + 1 + (first === 0xfe ? 8 : length)];
}

/** Cuts a stream into packets; only the first of a payload above 16 MiB says what it is. */
function packetsOf(): (chunk: Buffer) => Generator<readonly [bytes: Buffer, isFirst: boolean]> {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = true;
  return function* (chunk) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const length = rest.readUIntLE(0, 3);
      if (rest.length < length + 4) return;
      const packet = rest.subarray(0, length + 4);
      rest = rest.subarray(length + 4);
      yield [packet, isFirst];
      isFirst = length < PACKET_MAX;
    }
  };
}
