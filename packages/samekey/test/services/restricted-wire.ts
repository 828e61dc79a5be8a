/**
 * A PostgreSQL with less: between a client and a real server, statements that some engine does not know are refused with 0A000, and
 * others meet what a distributed engine answers now and then: 40001, by chance, or one chosen answer to one chosen statement. What is
 * let through is done by the server.
 *
 * It reads what a client sends up to the message that ends it (Sync or a simple query), and then decides on all of it.
 * Sources: https://www.postgresql.org/docs/current/protocol-message-formats.html, /protocol-flow.html.
 */

import type { ClientPart, ServerPart, Wire } from './fault-proxy.ts';
import { messagesOf, textAt } from './pg-wire.ts';

/** An answer that is given in place of the server's. */
export interface ChosenAnswer {
  readonly statement: RegExp;
  /** SQLSTATE. */
  readonly code: string;
  /** Whether the server does the statement all the same. */
  readonly applied: boolean;
  /** How often. */
  times: number;
}

/** What connections through one proxy share. */
export interface Restrictions {
  /** What is not known here. */
  readonly refused: readonly RegExp[];
  /** How many statements of a hundred meet a conflict; 0 for none. Only those that stand alone, or in a transaction of the store. */
  conflictPercent: number;
  readonly random: () => number;
  answers: ChosenAnswer[];
  /** Statements that were refused. */
  readonly refusals: string[];
  /** How many conflicts were made, and how many statements were let through. */
  conflicts: number;
  passed: number;
}

/**
 * So many conflicts at most in so many statements of one connection: fewer than a store's tries, of which each may take some statements, so
 * that chance alone never exhausts them.
 */
const CONFLICTS_MAX = 4;
const WINDOW = 40;

/** What CockroachDB, YugabyteDB and Citus lack, taken together. */
export const LACKING: readonly RegExp[] = [
  /advisory/i,
  /\b(?:UN)?LISTEN\b|\bNOTIFY\b|pg_notify/i,
  /SKIP\s+LOCKED|\bNOWAIT\b/i,
  /\b(?:ctid|xmin|tableoid)\b/i,
  /^\s*DO\b|\bTRIGGER\b|CREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION/i,
  /CREATE\s+(?:UNIQUE\s+)?INDEX[\s\S]*\bWHERE\b/i,
  /\bLATERAL\b|\bWITH\b[\s\S]*\b(?:INSERT|UPDATE|DELETE)\b/i,
  /\bCONCURRENTLY\b|\bLOCK\s+TABLE\b/i,
];

/** Reads one connection. */
export function restrictedWire(rules: Restrictions): Wire {
  let started = false;
  /** As the server last said: idle, in a transaction, or in a failed one. */
  let status = 'I';
  let isOurs = false;
  let statements = 0;
  /** At which statements of this connection there was one. */
  const conflicts: number[] = [];
  /** What replaces the server's next answer. */
  let instead: string | undefined;
  let held: Buffer[] = [];
  let texts: string[] = [];
  const prepared = new Map<string, string>();
  const fromClient = messagesOf();
  const fromServer = messagesOf();

  /** A statement of a store's alone; of a transaction its COMMIT, and what it writes of records. */
  function mayConflict(statement: string, isSimple: boolean): boolean {
    if (isSimple || statements - (conflicts.at(-CONFLICTS_MAX) ?? -WINDOW) < WINDOW) return false;
    if (status === 'I') return statement !== '' && !isSession(statement);
    return isOurs && /^(?:UPDATE|COMMIT)\b/i.test(statement);
  }

  function answer(code: string): ClientPart[] {
    status = status === 'I' ? 'I' : 'E';
    return [{ bytes: Buffer.alloc(0), answer: Buffer.concat([errorOf(code), readyOf(status)]) }];
  }

  function decide(isSimple: boolean): ClientPart[] {
    const bytes = Buffer.concat(held);
    const statement = texts.join('; ');
    held = [];
    texts = [];
    statements += 1;
    if (statement !== '' && rules.refused.some((pattern) => pattern.test(statement))) {
      rules.refusals.push(statement);
      return answer('0A000');
    }
    if (/^BEGIN\b/i.test(statement)) isOurs = !isSimple;
    const chosen = rules.answers.find((each) => each.times > 0 && each.statement.test(statement));
    if (chosen !== undefined) {
      chosen.times -= 1;
      if (!chosen.applied) return answer(chosen.code);
      instead = chosen.code;
    } else if (mayConflict(statement, isSimple) && rules.random() * 100 < rules.conflictPercent) {
      rules.conflicts += 1;
      conflicts.push(statements);
      return answer('40001');
    }
    rules.passed += 1;
    return [{ bytes, statement, ends: true }];
  }

  function read(bytes: Buffer): ClientPart[] {
    const type = String.fromCharCode(bytes[0] ?? 0);
    if (type === 'X') return [{ bytes }];
    held.push(bytes);
    if (type === 'Q') {
      texts.push(textAt(bytes, 5).text);
      return decide(true);
    }
    if (type === 'P') {
      const name = textAt(bytes, 5);
      prepared.set(name.text, textAt(bytes, name.next).text);
    }
    if (type === 'B') {
      const portal = textAt(bytes, 5);
      texts.push(prepared.get(textAt(bytes, portal.next).text) ?? '');
    }
    return type === 'S' ? decide(false) : [];
  }

  return {
    client(chunk) {
      const parts: ClientPart[] = [];
      for (const bytes of fromClient(chunk, () => !started)) {
        if (started) parts.push(...read(bytes));
        else if (isAskForEncryption(bytes)) parts.push({ bytes: Buffer.alloc(0), answer: Buffer.from('N') });
        else {
          started = true;
          parts.push({ bytes, ends: true });
        }
      }
      return parts;
    },
    server(chunk) {
      const parts: ServerPart[] = [];
      for (const bytes of fromServer(chunk, () => false)) {
        const ends = bytes[0] === READY;
        if (ends) status = String.fromCharCode(bytes[5] ?? 0);
        if (instead === undefined) parts.push({ bytes, ends });
        else if (ends) {
          parts.push({ bytes: Buffer.concat([errorOf(instead), bytes]), ends });
          instead = undefined;
        }
      }
      return parts;
    },
  };
}

/** Before a session's first statement there is nobody who would send it again; a rollback outside of a transaction does nothing. */
function isSession(statement: string): boolean {
  return /pg_backend_pid|set_config|^ROLLBACK/.test(statement);
}

const READY = 'Z'.charCodeAt(0);
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;

function isAskForEncryption(bytes: Buffer): boolean {
  const code = bytes.readInt32BE(4);
  return code === SSL_REQUEST || code === GSS_REQUEST;
}

/** ErrorResponse. */
function errorOf(code: string): Buffer {
  const fields = Buffer.from(`SERROR\0VERROR\0C${code}\0Mmade by the test's proxy\0\0`);
  return message('E', fields);
}

/** ReadyForQuery. */
function readyOf(status: string): Buffer {
  return message('Z', Buffer.from(status));
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
