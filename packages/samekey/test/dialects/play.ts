/** Plays transcripts against a server that listens. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { idempotent, type NodeListener } from '../../src/adapters/node/index.ts';
import type { OperationOptions } from '../../src/core/settings.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { Sent, Spoken, Step } from './spoken.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly ran: boolean;
}

function scope(req: IncomingMessage): string {
  return String(req.headers['x-account']);
}

interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

function signal(): Signal {
  const made: { give?: () => void } = {};
  const given = new Promise<void>((resolve) => {
    made.give = resolve;
  });
  return { given, give: () => made.give?.() };
}

/** Plays one transcript, from the first step to the last. */
export async function play(
  { dialect, open = {}, transcript }: Spoken,
  instance: OperationOptions = {},
): Promise<void> {
  let now = Date.UTC(2030, 0);
  const store = memoryStore({ now: () => now });
  let routes = new Map<string, NodeListener>();
  let runs = 0;
  let step: Step | null = null;
  let held: { readonly begun: Signal; readonly over: Signal } | null = null;

  async function handler(_req: IncomingMessage, res: ServerResponse): Promise<void> {
    runs += 1;
    const { status, body } = step?.handler ?? { status: 201 };
    const said = body ?? JSON.stringify({ run: runs });
    held?.begun.give();
    await held?.over.given;
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(said);
  }

  function listenerOf(path: string): NodeListener {
    let listener = routes.get(path);
    if (listener === undefined) {
      listener = idempotent(
        createSamekey({ ...instance, store }),
        { ...open, dialect, scope, operation: `POST ${path}` },
        handler,
      );
      routes.set(path, listener);
    }
    return listener;
  }

  const server = createServer((req, res) => {
    listenerOf(String(req.headers['x-operation']))(req, res).catch(() => res.writeHead(500).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answered(sent: Sent): Promise<Answer> {
    const before = runs;
    const answer = await ask(port, sent);
    return { ...answer, ran: runs > before };
  }

  try {
    for (const each of transcript) {
      if (each.after !== undefined) {
        now += each.after;
        // What a process remembers goes by its own clock, which has not moved.
        routes = new Map();
      }
      step = each;
      if (each.meanwhile === undefined) compare(each, await answered(each.send));
      else {
        const [begun, over] = [signal(), signal()];
        held = { begun, over };
        const first = answered(each.send);
        await begun.given;
        held = null;
        compare(each.meanwhile, await answered(each.meanwhile.send));
        over.give();
        compare(each, await first);
      }
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function compare({ says, expect: wanted }: Step, answer: Answer): void {
  const told = `${says}\n${answer.status} ${answer.text}`;
  expect(answer.status, told).toBe(wanted.status);
  expect(answer.ran, told).toBe(wanted.ran);
  for (const [name, value] of Object.entries(wanted.headers ?? {}))
    expect(answer.headers[name] ?? null, `${told}\n${name}`).toEqual(value);
  if (wanted.body !== undefined) expect(JSON.parse(answer.text), told).toMatchObject(wanted.body);
}

async function ask(port: number, sent: Sent): Promise<Omit<Answer, 'ran'>> {
  const { method = 'POST', path = '/', account = 'acme', headers = {}, body = { amount: 10 } } = sent;
  const req = request({ port, method, path: sent.url ?? path, host: '127.0.0.1' });
  req.setHeader('X-Operation', path);
  req.setHeader('Content-Type', 'application/json');
  req.setHeader('X-Account', account);
  for (const [name, value] of Object.entries(headers)) req.setHeader(name, value);
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  req.setHeader('Content-Length', bytes.length);
  req.end(bytes);
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  return { status: res.statusCode ?? 0, headers: res.headers, text: await text(res) };
}
