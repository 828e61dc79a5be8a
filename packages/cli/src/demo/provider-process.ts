/**
 * A simulated payment provider: a process of its own, with an SQLite file of its own, which may be killed at any line.
 * It keeps keys as real ones do, and does to its callers what real ones do (faults.ts).
 *
 * Started with SAMEKEY_PROVIDER = { file, port, seed, faultRate }; sends its origin to its parent, and ends with it.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { drawFault, type Fault, faultNamed } from './faults.ts';
import { type Charge, openProviderBooks } from './provider-books.ts';

/** How it is to be. */
export interface ProviderSettings {
  readonly file: string;
  /** 0 for any. */
  readonly port: number;
  /** Null: faults happen on demand only. */
  readonly seed: number | null;
  /** In how many calls of the seed a fault happens, from 0 to 1. */
  readonly faultRate: number;
  /** How long it takes, in milliseconds. */
  readonly fastestMs: number;
  readonly slowestMs: number;
  /** When a late answer comes, in milliseconds. */
  readonly lateMs: number;
}

const settings = JSON.parse(process.env['SAMEKEY_PROVIDER'] ?? '{}') as ProviderSettings;
const books = openProviderBooks(settings.file);

async function charge(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const key = String(request.headers['idempotency-key']);
  const asked = JSON.parse(await readText(request)) as Omit<Charge, 'id'>;
  const call = books.called();
  const fault =
    faultNamed(request.headers['x-fault']) ??
    (settings.seed === null ? null : drawFault(settings.seed, settings.faultRate, call));
  if (fault !== null) books.count(fault);
  await pause(settings.fastestMs + Math.random() * (settings.slowestMs - settings.fastestMs));
  if (fault === 'never-answers') return;
  if (fault === 'fails-first') {
    answer(response, 500, { error: 'something broke' });
    return;
  }
  const known = books.remembered(key);
  if (
    known !== undefined &&
    (known.reference !== asked.reference || known.amountCents !== asked.amountCents)
  ) {
    answer(response, 422, { error: 'this key stands for another charge' });
    return;
  }
  await tell(response, fault, key, known ?? books.charge(key, asked));
}

/** The charge stands; now its caller may hear of it, or not. */
async function tell(response: ServerResponse, fault: Fault | null, key: string, made: Charge): Promise<void> {
  if (fault === 'forgets-key') books.forget(key);
  if (fault === 'loses-reply' || fault === 'forgets-key') {
    response.destroy();
    return;
  }
  if (fault === 'answers-late') await pause(settings.lateMs);
  if (fault === 'fails-after-charging') answer(response, 500, { error: 'something broke' });
  else answer(response, 201, made);
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString('utf8');
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://provider');
  const route = `${request.method} ${url.pathname}`;
  if (route === 'POST /charges') {
    charge(request, response).catch((error: unknown) => {
      if (!response.destroyed) answer(response, 400, { error: String(error) });
    });
  } else if (route === 'GET /charges') {
    const found = books.find(url.searchParams.get('reference') ?? '');
    answer(response, found === undefined ? 404 : 200, found ?? { error: 'there is no such charge' });
  } else if (route === 'GET /ledger') {
    answer(response, 200, { charges: books.ledger(), counts: books.counts() });
  } else {
    answer(response, 404, { error: 'there is no such thing' });
  }
});

server.listen(settings.port, '127.0.0.1', () => {
  process.send?.({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
// Ctrl-C reaches every process of a terminal: the shop finishes its payments first, and needs the provider for that.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(0));
