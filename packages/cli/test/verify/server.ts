/**
 * A small service in plain `node:http` that is safe to retry, and the same with one fault each. It shares no code with Samekey: what
 * verify finds, it finds from outside.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** One thing that is wrong with it. */
export type Fault = keyof typeof FAULTS;

/** What each does. */
export const FAULTS = {
  'no record': 'runs every request',
  'no fingerprint': 'replays to whatever comes under the key',
  'check then act': 'looks, works, then writes: requests that meet all run',
  'answered by a second run': 'what meets a running request runs, and is kept out of the record',
  'same body, same operation': 'refuses a body that came under another key',
  'one scope for all': 'keys are not those of a tenant',
  'scoped by credential': 'keys are those of a token, not of its owner',
  'taken for another tenant': 'a key of another tenant is refused',
  'kept 500': 'replays a failure that it declares to retry',
  'runs a refusal again': 'forgets what it has refused',
  'loses headers': 'replays only Content-Type',
  'loses Content-Type': 'replays everything else',
  'serialises anew': 'reads and writes the stored JSON',
  'another status': 'replays with 200',
  'body for an empty answer': 'replays an empty answer as null',
  'no marker': 'replays without saying so',
  'always marked': 'says of every answer that it is a replay',
  'key optional': 'runs what comes without a key',
  'empty key is a key': 'takes the empty key for one',
  'trims keys': 'drops the spaces of a key',
  'folds case': 'writes keys in small letters',
  'cuts keys': 'looks at 255 characters',
  'bare only': 'refuses keys in quotes',
  'quotes are part of the key': 'two forms, two keys',
  'opens quotes': 'does not mind a quote that is not closed',
  'joins lines': 'makes one key of two header lines',
  'query ignored': 'compares everything but the query',
  'path ignored': 'compares everything but the path',
  'method ignored': 'compares everything but the method',
  'compares bytes': 'refuses the same JSON in another order',
  'rounds numbers': 'compares numbers as doubles',
  'conflict for a mismatch': '409 where 422 is due',
  'mismatch rebinds': 'another body takes the key over',
  'mismatch forgets': 'another body ends the protection of the first',
  'refuses while running': '500 while the first is running',
  'busy without a time': '409 without Retry-After',
  'busy for a century': '409 with a Retry-After nobody waits for',
  'busy hides a mismatch': 'runs another body that meets a running request',
  'cancels on hang-up': 'the record goes with the client, the charge does not',
  'never ends': 'a client that hangs up leaves its key in progress',
  'forgets early': 'forgets keys after a third of its time',
  'never forgets': 'remembers keys for ever',
  'GET kept': 'answers GET from the record',
  'GET wants no key': 'refuses GET with a key',
  'fails open': 'runs when its store is away',
  'hangs without store': 'does not answer when its store is away',
  'text for errors': 'errors are text',
  'wrong problem': 'the status of the document is another',
  'no links': 'refusals lead nowhere',
  'a member varies': 'each answer, a replay too, has another request id',
  'one scope for all, a member varies':
    'keys are not those of a tenant, and answers never have the same bytes',
  'query ignored, a member varies':
    'compares everything but the query, and answers never have the same bytes',
  'path ignored, a member varies': 'compares everything but the path, and answers never have the same bytes',
  'method ignored, a member varies':
    'compares everything but the method, and answers never have the same bytes',
  'no fingerprint, a member varies': 'replays to whatever comes under the key, and never the same bytes',
  'hangs after three requests': 'answers no further one',
  'answers no retry': 'a request with a used key is never answered',
  'forgets after one replay': 'a second retry is a new request',
  'remembers ten keys': 'the eleventh pushes the first one out',
  'only the first answer kept': 'each retry gets the first answer it ever gave',
  'only the last answer kept': 'each retry gets the last answer it gave to anybody',
  'status of the last': 'a retry gets the status of the last answer, with its own body',
  'ignores nested members': 'compares the members of a body that are no objects',
  'compares lengths': 'a body of the same length is the same body',
  'compares one member': 'compares the item only',
  'replays headers only': 'the body of a replay is empty',
  'replays half': 'the body of a replay is cut',
  'joins header lines': 'replays repeated header lines as one',
  'GET kept, a member varies': 'answers GET from the record, and never with the same bytes',
  'HEAD wants no key': 'refuses HEAD with a key',
  'mismatch kept': 'the refusal of another body takes the place of the answer',
  'cuts keys to 36': 'looks at as many characters as a UUID has',
  'refusal replayed as 200': 'a retry of what was refused is told that it was done',
  'who meets it locks it': 'the answer of an operation that somebody met is not kept',
  'room for two': 'of three requests that meet, the third runs',
  'empty for who waits': 'what meets a running request is answered as done, with an empty object',
  'runs before it asks its store': 'refuses when its store is away, after it ran',
  'refuses and runs': 'another request under a used key is refused, and runs',
  'empty after a hang-up': 'keeps no body for a client that is gone',
  'charges again later': 'a retry is answered from the record, and is carried out some time after',
  'only the id is unique':
    'has no record: what keeps a retry from running is the id that the client supplies',
  'one scope for all, client ids': 'keys are not those of a tenant; clients supply unique ids',
  'no record, echoes ids': 'runs every request, and answers the id that the client supplied',
  'folds case, client ids': 'writes keys in small letters; clients supply unique ids',
} as const;

/** How long keys are remembered. */
export const RETENTION_MS = 1_500;

interface Kept {
  readonly print: string;
  /** Null while it is running. */
  answer: Sent | null;
  readonly at: number;
  /** How many requests met it while it was running. */
  met: number;
}

interface Sent {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** A running one. */
export class Service {
  readonly origin: string;
  executions = 0;
  isStoreDown = false;
  /** How long after its answer an operation takes effect, in milliseconds. */
  lateMs = 0;
  #requests = 0;
  #first: Sent | null = null;
  #last: Sent | null = null;
  /** Executions by whom they were for: what `GET /own` tells its caller. */
  readonly #ofOwner = new Map<string, number>();
  readonly #ids = new Set<string>();
  readonly #has: (fault: Fault | 'echoes ids') => boolean;
  readonly #kept = new Map<string, Kept>();
  readonly #gets = new Map<string, string>();
  readonly #failed = new Set<string>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>, fault: Fault | null) {
    this.#server = server;
    // A name says what is wrong, and behind a comma what makes it hard to see.
    const wrong: (string | null)[] = [fault, ...(fault?.split(', ') ?? [])];
    this.#has = (one) => wrong.includes(one);
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Listens. */
  static async start(fault: Fault | null): Promise<Service> {
    let service: Service | undefined;
    const server = createServer((req, res) => void service?.serve(req, res));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    service = new Service(server, fault);
    return service;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const method = String(req.method);
    this.#requests += 1;
    if (this.#has('hangs after three requests') && this.#requests > 3) return;
    if (method === 'GET' || method === 'HEAD') this.#get(req, res);
    else await this.#change(req, res, method, body);
  }

  #get(req: IncomingMessage, res: ServerResponse): void {
    const key = req.headers['idempotency-key'];
    const now = String(req.url === '/own' ? (this.#ofOwner.get(callerOf(req)[0]) ?? 0) : this.executions);
    const isUnwanted = this.#has(req.method === 'HEAD' ? 'HEAD wants no key' : 'GET wants no key');
    if (typeof key === 'string' && isUnwanted) {
      this.#refuse(res, 400, 'key-not-allowed');
      return;
    }
    if (typeof key === 'string' && this.#has('GET kept') && !this.#gets.has(key)) this.#gets.set(key, now);
    const told = (this.#has('GET kept') && this.#gets.get(String(key))) || now;
    res.end(this.#has('a member varies') && req.url === '/orders' ? `${told} ${randomUUID()}` : told);
  }

  async #change(req: IncomingMessage, res: ServerResponse, method: string, body: string): Promise<void> {
    const has = this.#has;
    const lines = req.headersDistinct['idempotency-key'] ?? [];
    const key = this.#keyOf(lines);
    if (key === null && !(lines.length === 0 && has('key optional'))) {
      this.#refuse(res, 400, 'key');
      return;
    }
    if (this.isStoreDown) {
      if (has('hangs without store')) return;
      if (has('runs before it asks its store')) await this.#run(req, body, '');
      if (has('fails open')) this.#send(res, await this.#run(req, body, ''));
      else this.#refuse(res, 503, 'store', [['Retry-After', '1']]);
      return;
    }
    if (key === null || has('no record') || has('only the id is unique')) {
      this.#send(res, await this.#run(req, body, ''));
      return;
    }
    await this.#keyed(req, res, method, body, key);
  }

  async #keyed(
    req: IncomingMessage,
    res: ServerResponse,
    method: string,
    body: string,
    key: string,
  ): Promise<void> {
    const has = this.#has;
    const [owner, token] = callerOf(req);
    const tenant =
      has('one scope for all') || has('taken for another tenant')
        ? ''
        : has('scoped by credential')
          ? token
          : owner;
    const id = JSON.stringify([tenant, key]);
    const url = new URL(String(req.url), 'http://any.example');
    const print = JSON.stringify([
      has('taken for another tenant') ? owner : '',
      has('method ignored') ? '' : method,
      has('path ignored') ? '' : url.pathname,
      has('query ignored') ? '' : url.search,
      this.#bodyPrint(body),
    ]);
    const lifeMs = has('forgets early') ? RETENTION_MS / 3 : has('never forgets') ? Infinity : RETENTION_MS;
    const found = this.#kept.get(id);
    const kept = found !== undefined && Date.now() - found.at < lifeMs ? found : undefined;
    if (kept !== undefined) {
      const isOther = kept.print !== print && !has('no fingerprint');
      if (isOther && has('mismatch rebinds') && kept.answer !== null) this.#kept.set(id, { ...kept, print });
      if (isOther && has('mismatch forgets') && kept.answer !== null) this.#kept.delete(id);
      if (isOther && has('busy hides a mismatch') && kept.answer === null) {
        this.#send(res, await this.#run(req, body, id));
        return;
      }
      if (isOther && has('refuses and runs')) await this.#run(req, body, id);
      if (isOther && has('mismatch kept') && kept.answer !== null)
        this.#kept.set(id, { ...kept, answer: { status: 422, headers: [JSON_TYPE], body: '{}' } });
      if (isOther) this.#refuse(res, has('conflict for a mismatch') ? 409 : 422, 'key-reused');
      else if (kept.answer === null) await this.#busy(req, res, body, id, kept);
      else {
        this.#replay(res, kept.answer);
        if (has('forgets after one replay') && kept.met === 0) this.#kept.delete(id);
        if (has('charges again later')) void this.#run(req, body, id);
      }
      return;
    }
    const record: Kept = { print, answer: null, at: Date.now(), met: 0 };
    if (has('same body, same operation') && [...this.#kept.values()].some((one) => one.print === print)) {
      this.#refuse(res, 409, 'duplicate', [['Retry-After', '1']]);
      return;
    }
    if (!has('check then act')) this.#kept.set(id, record);
    const [oldest] = this.#kept.keys();
    if (has('remembers ten keys') && this.#kept.size > 10 && oldest !== undefined) this.#kept.delete(oldest);
    let isGone = false;
    res.on('close', () => {
      isGone = !res.writableEnded;
      if (isGone && has('cancels on hang-up')) this.#kept.delete(id);
    });
    const answer = await this.#run(req, body, id);
    if (isGone && has('never ends')) return;
    if (record.met > 0 && has('who meets it locks it')) {
      this.#send(res, answer);
      return;
    }
    const isForgotten =
      (answer.status >= 500 && !has('kept 500')) || (answer.status === 402 && has('runs a refusal again'));
    if (isForgotten) this.#kept.delete(id);
    else {
      record.answer = isGone && has('empty after a hang-up') ? { ...answer, body: '' } : answer;
      this.#first ??= answer;
      this.#last = answer;
      if (has('check then act') && !this.#kept.has(id)) this.#kept.set(id, record);
    }
    this.#send(res, answer);
  }

  async #busy(
    req: IncomingMessage,
    res: ServerResponse,
    body: string,
    id: string,
    record: Kept,
  ): Promise<void> {
    const has = this.#has;
    record.met += 1;
    if (has('answered by a second run') || (has('room for two') && record.met > 1))
      this.#send(res, await this.#run(req, body, id));
    else if (has('empty for who waits')) this.#send(res, { status: 201, headers: [JSON_TYPE], body: '{}' });
    else if (has('refuses while running')) this.#refuse(res, 500, 'in-progress');
    else if (has('busy without a time')) this.#refuse(res, 409, 'in-progress');
    else
      this.#refuse(res, 409, 'in-progress', [
        ['Retry-After', has('busy for a century') ? '3153600000' : '1'],
      ]);
  }

  /** The operation. */
  async #run(req: IncomingMessage, body: string, id: string): Promise<Sent> {
    const order = readJson(body);
    if (typeof order['holdMs'] === 'number') await pause(order['holdMs']);
    if (order['refuse'] === true)
      return { status: 402, headers: [JSON_TYPE], body: JSON.stringify({ declined: randomUUID() }) };
    if (order['fail'] === true && !this.#failed.has(id)) {
      this.#failed.add(id);
      return { status: 500, headers: [JSON_TYPE], body: '{"failed":true}' };
    }
    const { id: supplied } = order;
    if (typeof supplied === 'string') {
      const unique = `${new URL(String(req.url), 'http://any.example').pathname} ${supplied}`;
      if (this.#ids.has(unique) && !this.#has('echoes ids'))
        return { status: 409, headers: [JSON_TYPE], body: '{"error":"there is such an order"}' };
      this.#ids.add(unique);
    }
    const [owner] = callerOf(req);
    this.#ofOwner.set(owner, (this.#ofOwner.get(owner) ?? 0) + 1);
    const lateMs = this.#has('charges again later') ? LATE_MS : this.lateMs;
    if (lateMs === 0) this.executions += 1;
    else setTimeout(() => (this.executions += 1), lateMs);
    const orderId = typeof supplied === 'string' && this.#has('echoes ids') ? supplied : randomUUID();
    const links = [
      ['Location', `/orders/${orderId}`],
      ['Link', '</a>; rel="next"'],
      ['Link', '</b>; rel="prev"'],
    ] as const;
    if (this.#has('body for an empty answer')) return { status: 204, headers: links, body: '' };
    return {
      status: 201,
      headers: [JSON_TYPE, ...links],
      body: `{ "id": ${JSON.stringify(orderId)}, "path": ${JSON.stringify(req.url)} }\n`,
    };
  }

  #keyOf(lines: readonly string[]): string | null {
    const has = this.#has;
    if (lines.length !== 1 && !(lines.length > 1 && has('joins lines'))) return null;
    const line = lines.join(', ');
    if (lines.length > 1) return line;
    const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(line);
    if (quoted !== null && has('bare only')) return null;
    if (has('quotes are part of the key') && quoted?.[1] !== '') return line === '' ? null : line;
    let key = quoted?.[1] ?? line;
    if (quoted === null && line.includes('"')) {
      if (!has('opens quotes')) return null;
      key = line.replaceAll('"', '');
    }
    if (has('trims keys')) key = key.trim();
    if (has('folds case')) key = key.toLowerCase();
    if (has('cuts keys to 36')) key = key.slice(0, 36);
    if (has('cuts keys')) key = key.slice(0, 255);
    if (key === '') return has('empty key is a key') ? '' : null;
    return key.length > 255 ? null : key;
  }

  #bodyPrint(body: string): string {
    if (this.#has('compares bytes')) return body;
    if (this.#has('compares lengths')) return String(body.length);
    try {
      // Numbers as they are written; the rest as JSON reads it.
      const exact = this.#has('rounds numbers') ? body : body.replaceAll(/:\s*(-?\d+)/g, ':"n$1"');
      const members = Object.entries(JSON.parse(exact) as Record<string, unknown>);
      const seen = members.filter(([name, value]) => {
        if (this.#has('compares one member')) return name === 'item';
        return !this.#has('ignores nested members') || typeof value !== 'object';
      });
      return JSON.stringify(inOrder(Object.fromEntries(seen)));
    } catch {
      return body;
    }
  }

  #replay(res: ServerResponse, stored: Sent): void {
    const has = this.#has;
    if (has('answers no retry')) return;
    const one = has('only the first answer kept')
      ? this.#first
      : has('only the last answer kept')
        ? this.#last
        : stored;
    const answer = one ?? stored;
    const headers = (has('joins header lines') ? joined(answer.headers) : answer.headers).filter(([name]) => {
      if (has('loses headers')) return name === 'Content-Type';
      return !(has('loses Content-Type') && name === 'Content-Type');
    });
    const body = has('serialises anew')
      ? JSON.stringify(readJson(answer.body))
      : answer.body.slice(
          0,
          has('replays headers only') ? 0 : has('replays half') ? answer.body.length / 2 : undefined,
        );
    const marker =
      has('no marker') || has('a member varies') ? [] : ([['Idempotency-Replayed', 'true']] as const);
    const isNull = has('body for an empty answer') && answer.status === 204;
    this.#send(res, {
      status:
        isNull ||
        (has('another status') && answer.status < 400) ||
        (has('refusal replayed as 200') && answer.status === 402)
          ? 200
          : has('status of the last')
            ? (this.#last?.status ?? answer.status)
            : answer.status,
      headers: [...headers, ...marker],
      body: isNull ? 'null' : body,
    });
  }

  #refuse(
    res: ServerResponse,
    status: number,
    code: string,
    headers: readonly (readonly [string, string])[] = [],
  ): void {
    const isText = this.#has('text for errors');
    const document = {
      type: this.#has('no links') ? 'about:blank' : `https://shop.example/errors#${code}`,
      title: code,
      status: this.#has('wrong problem') ? 400 + 18 : status,
    };
    this.#send(res, {
      status,
      headers: [
        ['Content-Type', isText ? 'text/plain' : 'application/problem+json'],
        ...(this.#has('no links') ? [] : [['Link', '<https://shop.example/errors>; rel="help"'] as const]),
        ...headers,
      ],
      body: isText ? code : JSON.stringify(document),
    });
  }

  #send(res: ServerResponse, { status, headers, body }: Sent): void {
    const marked = this.#has('always marked') && !headers.some(([name]) => name === 'Idempotency-Replayed');
    const lines = [...headers, ...(marked && status < 400 ? [['Idempotency-Replayed', 'true']] : [])];
    const varies = this.#has('a member varies') && status < 400;
    const said = varies ? JSON.stringify({ ...readJson(body), requestId: randomUUID() }) : body;
    res.writeHead(status, lines.flat()).end(said);
  }
}

/** How late what is charged again is. */
const LATE_MS = 60;

/** The same JSON with the members of each object in the order of their names. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]));
}

/** Lines of one name as one, with commas. */
function joined(headers: Sent['headers']): Sent['headers'] {
  const lines = new Map<string, string>();
  for (const [name, value] of headers) {
    const before = lines.get(name);
    lines.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return [...lines];
}

const JSON_TYPE = ['Content-Type', 'application/json'] as const;

/** Tokens are `tenant.secret`. */
function callerOf(req: IncomingMessage): readonly [owner: string, token: string] {
  const token = String(req.headers.authorization ?? '');
  return [token.split('.')[0] ?? '', token];
}

function readJson(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
