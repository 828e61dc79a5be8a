/**
 * A payment provider to be unkind with: a process of its own, self-contained, with a ledger in a SQLite file. It remembers the
 * idempotency keys it was sent, for as long as it is told to; it times out, answers 500 after it has charged, charges late,
 * loses replies, refuses connections, and can be asked by key.
 *
 *     node payment-provider.js '{"path":"/some/folder/provider.db","port":0,"controlPort":0}'
 *
 * It prints one line, `{"type":"ready","port":…,"controlPort":…}`, and tells it by IPC where there is any. On `port`:
 *
 * | request | answer |
 * | --- | --- |
 * | `POST /payments`, `Idempotency-Key: …`, `{"kind","reference","amount"}` | 201 and the payment; for a known key the one that was made, 409 for other fields |
 * | `GET /payments?key=…` | 200 and the payment, or 404 |
 *
 * On `controlPort`: `GET /ledger?reference=…` gives the payments and calls whose references begin so (default: all); `PUT /faults` sets {@link ProviderFaults}; `POST /refuse` with
 * `{"forMs"}` closes the port for a while; `POST /forget` makes it forget all keys. Ends with SIGTERM.
 */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Options, as JSON in the first argument. */
export interface ProviderOptions {
  /** The file of the ledger. */
  readonly path: string;
  /** 0, the default: any that is free. */
  readonly port?: number;
  readonly controlPort?: number;
  /** How long it remembers keys, in milliseconds; default for ever. */
  readonly retentionMs?: number;
}

/**
 * What a call may meet. `time-out`: nothing is charged, nothing is answered. `error-before`, `reset`: nothing is charged, and the
 * answer is 500, or the connection ends. `error-after`, `lose-reply`, `late`: charged, and the answer is 500, or the connection
 * ends, or it is late. `late-charge`: charged and answered, both late.
 */
export const PROVIDER_FAULTS = [
  'time-out',
  'error-before',
  'reset',
  'error-after',
  'lose-reply',
  'late',
  'late-charge',
] as const;
export type ProviderFault = (typeof PROVIDER_FAULTS)[number];

/** Which calls meet a fault: those of `next` first, in order; then by chance of the seed. */
export interface ProviderFaults {
  readonly next?: readonly (ProviderFault | 'none')[];
  readonly seed?: number;
  /** The part of calls that meet one, from 0 to 1; default 0. */
  readonly share?: number;
  /** Faults of one key at most, so that whoever repeats gets through; default 2. */
  readonly perKeyMax?: number;
  /** How late a charge is, in milliseconds, and how late an answer, from the request on; defaults 200 and 500. */
  readonly chargeLateMs?: number;
  readonly answerLateMs?: number;
}

/** A payment that was made. */
export interface Payment {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly reference: string;
  readonly amount: number;
}

/** A `POST /payments` that arrived. */
export interface ProviderCall {
  readonly key: string;
  readonly kind: string;
  readonly reference: string;
  readonly fault: ProviderFault | 'none';
}

/** What `GET /ledger` gives, oldest first. */
export interface ProviderLedger {
  readonly payments: readonly Payment[];
  readonly calls: readonly ProviderCall[];
}

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown; all(...values: unknown[]): unknown[] };
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProviderOptions;
const { retentionMs = Number.MAX_SAFE_INTEGER } = options;
const Client = createRequire(import.meta.url)('libsql') as new (path: string) => Database;
const database = new Client(options.path);
database.exec('PRAGMA journal_mode = WAL');
database.exec(`CREATE TABLE IF NOT EXISTS payments
  (id TEXT PRIMARY KEY, key TEXT, kind TEXT, reference TEXT, amount REAL, at INTEGER, known INTEGER)`);
database.exec('CREATE TABLE IF NOT EXISTS calls (key TEXT, kind TEXT, reference TEXT, fault TEXT)');
const byKey = database.prepare(
  'SELECT id, key, kind, reference, amount FROM payments WHERE key = ? AND known = 1 AND at > ?',
);
const insert = database.prepare('INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, 1)');
const paymentsOf = database.prepare(
  'SELECT id, key, kind, reference, amount FROM payments WHERE reference LIKE ? ORDER BY rowid',
);
const callsOf = database.prepare(
  'SELECT key, kind, reference, fault FROM calls WHERE reference LIKE ? ORDER BY rowid',
);
const insertCall = database.prepare('INSERT INTO calls VALUES (?, ?, ?, ?)');

let faults: ProviderFaults = {};
let next: (ProviderFault | 'none')[] = [];
let random: () => number = () => 1;
let faultsOf = new Map<string, number>();

const service = createServer((req, res) => void serve(req, res).catch(() => req.destroy()));
const control = createServer((req, res) => void obey(req, res).catch(() => req.destroy()));
const [port, controlPort] = [
  await listen(service, options.port ?? 0),
  await listen(control, options.controlPort ?? 0),
];
const ready = { type: 'ready', port, controlPort } as const;
process.stdout.write(`${JSON.stringify(ready)}\n`);
process.send?.(ready);
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://provider');
  if (url.pathname !== '/payments') return answer(res, 404, { error: 'not found' });
  if (req.method === 'GET') {
    const found = known(url.searchParams.get('key') ?? '');
    return found === undefined ? answer(res, 404, { error: 'not found' }) : answer(res, 200, found);
  }
  const asked = (await bodyOf(req)) as Omit<Payment, 'id' | 'key'>;
  const key = String(req.headers['idempotency-key'] ?? randomUUID());
  const fault = faultFor(key);
  insertCall.run(key, asked.kind, asked.reference, fault);
  const { chargeLateMs = 200, answerLateMs = 500 } = faults;
  if (fault === 'time-out') return undefined;
  if (fault === 'reset') return void req.socket.destroy();
  if (fault === 'error-before') return answer(res, 500, { error: 'internal' });
  // Whether the client has gone meanwhile or not: it is charged.
  if (fault === 'late-charge') await sleep(chargeLateMs);
  const payment = known(key) ?? charge(key, asked);
  if (fault === 'lose-reply') return void req.socket.destroy();
  if (fault === 'error-after') return answer(res, 500, { error: 'internal' });
  if (fault === 'late') await sleep(answerLateMs);
  if (fault === 'late-charge') await sleep(answerLateMs - chargeLateMs);
  const same =
    payment.kind === asked.kind && payment.reference === asked.reference && payment.amount === asked.amount;
  return same ? answer(res, 201, payment) : answer(res, 409, { error: 'the key was used otherwise' });
}

function known(key: string): Payment | undefined {
  return byKey.all(key, Date.now() - retentionMs).map(paymentOf)[0];
}

/** Nothing asynchronous between the look and this: two calls with one key make one payment. */
function charge(key: string, { kind, reference, amount }: Omit<Payment, 'id' | 'key'>): Payment {
  const id = `pay_${randomUUID()}`;
  insert.run(id, key, kind, reference, amount, Date.now());
  return { id, key, kind, reference, amount };
}

function faultFor(key: string): ProviderFault | 'none' {
  const wanted = next.shift();
  if (wanted !== undefined) return wanted;
  const had = faultsOf.get(key) ?? 0;
  if (had >= (faults.perKeyMax ?? 2) || random() >= (faults.share ?? 0)) return 'none';
  faultsOf.set(key, had + 1);
  return PROVIDER_FAULTS[Math.floor(random() * PROVIDER_FAULTS.length)] ?? 'none';
}

async function obey(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://control');
  const what = `${req.method} ${url.pathname}`;
  if (what === 'GET /ledger') {
    const reference = `${url.searchParams.get('reference') ?? ''}%`;
    const [payments, calls] = [paymentsOf.all(reference), callsOf.all(reference)];
    return answer(res, 200, { payments: payments.map(paymentOf), calls: calls.map(callOf) });
  }
  const body = await bodyOf(req);
  if (what === 'PUT /faults') {
    faults = body as ProviderFaults;
    next = [...(faults.next ?? [])];
    random = randomOf(faults.seed ?? 1);
    faultsOf = new Map();
  } else if (what === 'POST /refuse') {
    const closed = new Promise((resolve) => service.close(resolve));
    service.closeAllConnections();
    await closed;
    setTimeout(() => void listen(service, port), (body as { forMs: number }).forMs);
  } else if (what === 'POST /forget') {
    database.exec('UPDATE payments SET known = 0');
  } else {
    return answer(res, 404, { error: 'not found' });
  }
  return answer(res, 200, {});
}

/** The client's rows may carry more than was asked for. */
function paymentOf(row: unknown): Payment {
  const { id, key, kind, reference, amount } = row as Payment;
  return { id, key, kind, reference, amount };
}

function callOf(row: unknown): ProviderCall {
  const { key, kind, reference, fault } = row as ProviderCall;
  return { key, kind, reference, fault };
}

async function bodyOf(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as unknown);
}

function answer(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

function listen(server: Server, at: number): Promise<number> {
  return new Promise((resolve) => {
    server.listen(at, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** mulberry32: numbers in [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
