/**
 * A TCP proxy of our own in front of a server, which does on purpose what networks do by chance: it swallows the answer to one
 * chosen statement after the server has applied it, cuts a connection before a statement is sent on, delays, goes deaf
 * without closing anything, and leads to another server from one moment on.
 *
 * It knows no protocol: a {@link Wire} cuts the bytes into parts and says which statement they execute and which part of an answer is its
 * last. Each connection has a wire of its own; without one only faults of whole connections can be made.
 */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A part of what a client sends. */
export interface ClientPart {
  readonly bytes: Buffer;
  /** The statement that it executes: its name, if it has one, and its text. */
  readonly statement?: string;
  /** After it the client waits for an answer. */
  readonly ends?: boolean;
  /** What the proxy itself answers; nothing is sent on. */
  readonly answer?: Buffer;
}

/** A part of what a server sends. */
export interface ServerPart {
  readonly bytes: Buffer;
  /** The last part of one answer. */
  readonly ends: boolean;
}

/** Reads the two directions of one connection. */
export interface Wire {
  client(chunk: Buffer): readonly ClientPart[];
  server(chunk: Buffer): readonly ServerPart[];
}

/** What happens to one statement. */
export interface StatementFault {
  /** The first statement that fits, counted from 1 by `nth` (default 1). */
  readonly statement: RegExp;
  readonly nth?: number;
  /**
   * `lose-reply`: it is applied, its answer is swallowed; then the connection closes, or stays half-open (nothing is
   * heard any more, both ways). `cut-before`: the connection closes and the server never sees it. `delay`: it arrives late.
   */
  readonly what: 'lose-reply' | 'cut-before' | 'delay';
  /** What `lose-reply` leaves of the connection; default `closed`. */
  readonly leaves?: 'closed' | 'half-open';
  /** For `delay`. */
  readonly delayMs?: number;
}

/** A fault that lies ready. */
export interface ArmedFault {
  /** Resolves with the statement when it has happened: for `lose-reply`, once the server has answered. */
  readonly happened: Promise<string>;
  /** Takes it back if it has not happened. */
  disarm(): void;
}

/** A running proxy. */
export interface FaultProxy {
  /** The URL of the server with the proxy's address in it. */
  readonly url: string;
  arm(fault: StatementFault): ArmedFault;
  /**
   * From now on the clients of the connections that are open hear nothing, and nothing is closed; new ones work. With
   * `both` the server hears nothing either; without, what clients say still arrives.
   */
  goDeaf(ways?: 'both'): void;
  /** Closes the connections that are open; new ones work. */
  cut(): void;
  /** Leads new connections to the server of this URL, and closes the open ones. */
  leadTo(target: string): void;
  close(): Promise<void>;
}

interface Armed {
  readonly fault: StatementFault;
  left: number;
  happened(statement: string): void;
}

/** What the proxy makes of the answer that is next; `swallow` until its end. */
type Answer = { readonly swallow?: { readonly armed: Armed; readonly statement: string } };

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Nothing reaches the client. */
  isDeaf: boolean;
  /** Nothing reaches the server. */
  isMute: boolean;
}

/** Starts one in front of the server of a URL. */
export async function startFaultProxy(target: string, makeWire?: () => Wire): Promise<FaultProxy> {
  let destination = new URL(target);
  const pairs = new Set<Pair>();
  let armedFaults: Armed[] = [];

  /** The fault that this statement meets, if any. */
  function met(statement: string): Armed | undefined {
    for (const armed of armedFaults) {
      if (!armed.fault.statement.test(statement)) continue;
      armed.left -= 1;
      if (armed.left > 0) continue;
      armedFaults = armedFaults.filter((other) => other !== armed);
      return armed;
    }
    return undefined;
  }

  const server = createServer((client) => {
    const upstream = connect(Number(destination.port), destination.hostname);
    const pair: Pair = { client, upstream, isDeaf: false, isMute: false };
    pairs.add(pair);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.on('error', () => undefined).on('close', () => end(pair));
    upstream
      .on('error', () => undefined)
      .on('close', () => {
        if (!pair.isDeaf) end(pair);
      });
    if (makeWire === undefined) {
      client.on('data', (bytes) => void (pair.isMute || upstream.write(bytes)));
      upstream.on('data', (bytes) => void (pair.isDeaf || client.write(bytes)));
    } else {
      readStatements(pair, makeWire(), met);
    }
  });

  function end(pair: Pair): void {
    pairs.delete(pair);
    pair.client.destroy();
    pair.upstream.destroy();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = new URL(target);
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: url.href,
    arm(fault) {
      let armed: Armed | undefined;
      const happened = new Promise<string>((resolve) => {
        armed = { fault, left: fault.nth ?? 1, happened: resolve };
        armedFaults.push(armed);
      });
      return {
        happened,
        disarm() {
          armedFaults = armedFaults.filter((other) => other !== armed);
        },
      };
    },
    goDeaf(ways) {
      for (const pair of pairs) {
        pair.isDeaf = true;
        pair.isMute ||= ways === 'both';
      }
    },
    cut() {
      for (const pair of pairs) end(pair);
    },
    leadTo(next) {
      destination = new URL(next);
      for (const pair of pairs) end(pair);
    },
    async close() {
      for (const pair of pairs) end(pair);
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends parts on, and does to them what the faults say. */
function readStatements(pair: Pair, wire: Wire, met: (statement: string) => Armed | undefined): void {
  const { client, upstream } = pair;
  /** One for each answer that is still to come; the last is for what the client is saying now. */
  const answers: Answer[] = [];
  let saying: Answer = {};
  let turn: Promise<void> | undefined;

  function send(part: ClientPart): void {
    if (pair.isMute || client.destroyed) return;
    if (part.answer !== undefined) {
      client.write(part.answer);
      return;
    }
    const armed = part.statement === undefined ? undefined : met(part.statement);
    if (armed !== undefined && part.statement !== undefined) {
      const { fault } = armed;
      if (fault.what === 'cut-before') {
        armed.happened(part.statement);
        client.destroy();
        return;
      }
      if (fault.what === 'lose-reply') saying = { swallow: { armed, statement: part.statement } };
      else turn = new Promise((resolve) => void setTimeout(resolve, fault.delayMs ?? 0));
      if (fault.what === 'delay') armed.happened(part.statement);
    }
    if (part.ends) {
      answers.push(saying);
      saying = {};
    }
    if (turn === undefined) upstream.write(part.bytes);
    else turn = turn.then(() => void upstream.write(part.bytes));
  }

  client.on('data', (chunk) => {
    for (const part of wire.client(chunk)) send(part);
  });
  upstream.on('data', (chunk) => {
    for (const { bytes, ends } of wire.server(chunk)) {
      const { swallow } = answers[0] ?? saying;
      if (ends) answers.shift();
      if (pair.isDeaf) continue;
      if (swallow === undefined) client.write(bytes);
      if (swallow === undefined || !ends) continue;
      if (swallow.armed.fault.leaves === 'half-open') {
        pair.isDeaf = true;
        pair.isMute = true;
      } else {
        client.destroy();
      }
      swallow.armed.happened(swallow.statement);
    }
  });
}
