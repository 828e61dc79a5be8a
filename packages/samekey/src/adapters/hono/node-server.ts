/**
 * `@hono/node-server` gives handlers requests and answers that are plain objects until somebody asks for more. This
 * reads their bodies without asking for more. What is inside them is nobody's promise, so it is recognised by its shape
 * each time, and anything else takes the way of every other platform.
 *
 * Source: https://github.com/honojs/node-server, src/request.ts and src/response.ts (1.x and 2.x).
 */

import type { Attempt } from '../../engine/attempt.ts';
import { type Below, BROKEN_BODY, type Bytes, NULL_BODY, type RawBody } from '../../http-fetch/below.ts';
import type { HonoContext } from './hono-context.ts';

/** What is used of the request of Node. */
interface Incoming {
  readonly httpVersionMajor: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The request of a context, if it is one of these that nobody has asked for more. */
export function belowOf(c: HonoContext): Below | undefined {
  const { env } = c as { readonly env?: { readonly incoming?: Incoming } };
  const incoming = env?.incoming;
  const { raw } = c.req;
  // HTTP/2 may send a body of no declared length.
  if (incoming?.httpVersionMajor !== 1 || Object.getPrototypeOf(raw) === Request.prototype) return undefined;
  const own = ownOf(raw);
  const isLight =
    own !== null && Object.getOwnPropertySymbols(raw).some((key) => fieldOf(raw, key) === incoming);
  return isLight ? new NodeServerRequest(raw, incoming, own) : undefined;
}

/** Makes handlers' requests on this copy of the server; null where its requests are others. */
function ownOf(raw: Request): MakeOwn | null {
  const prototype: object = Object.getPrototypeOf(raw) as object;
  const known = makers.get(prototype);
  if (known !== undefined) return known;
  const cache = Object.getOwnPropertySymbols(prototype).find(
    (key) => key.description === 'getRequestCache' && typeof fieldOf(prototype, key) === 'function',
  );
  const made = cache === undefined ? null : makesOwn(Object.getPrototypeOf(prototype) as object, cache);
  makers.set(prototype, made);
  return made;
}

type MakeOwn = (from: Request, body: Bytes, attempt: Pick<Attempt, 'signal'>) => Request;

/** By the server's prototype of requests. */
const makers = new WeakMap<object, MakeOwn | null>();

/**
 * They are requests of the server's own class to `instanceof`. `cache`: by which `new Request(request)` of the server
 * finds the whole one.
 */
function makesOwn(parent: object, cache: symbol): MakeOwn {
  const prototype = Object.create(parent, Object.getOwnPropertyDescriptors(OwnRequest.prototype)) as object;
  Object.defineProperty(prototype, cache, {
    value(this: OwnRequest) {
      return this.whole();
    },
  });
  // Never called: what is constructed for it has its prototype.
  function target(): object {
    return prototype;
  }
  target.prototype = prototype;
  return (...args) => Reflect.construct(OwnRequest, args, target);
}

function fieldOf(object: object, key: symbol): unknown {
  return (object as Record<symbol, unknown>)[key];
}

class NodeServerRequest implements Below {
  readonly #raw: Request;
  readonly #incoming: Incoming;
  readonly #own: MakeOwn;

  constructor(raw: Request, incoming: Incoming, own: MakeOwn) {
    this.#raw = raw;
    this.#incoming = incoming;
    this.#own = own;
  }

  readBody(sizeMaxBytes: number): Promise<RawBody> | undefined {
    const length = lengthOf(this.#incoming);
    if (length === undefined) return undefined;
    if (this.#raw.bodyUsed) return Promise.resolve({ kind: 'consumed' });
    if (length > sizeMaxBytes) return Promise.resolve({ kind: 'too-large' });
    return readWhole(this.#raw);
  }

  ownRequest(body: Bytes, attempt: Pick<Attempt, 'signal'>): Request {
    return this.#own(this.#raw, body, attempt);
  }

  bytesOf(answer: Response): Bytes | null | undefined {
    for (const key of Object.getOwnPropertySymbols(answer)) {
      if (key.description !== 'cache') continue;
      const held = fieldOf(answer, key);
      if (!Array.isArray(held) || held.length !== 3 || !isStatus(held[0])) return undefined;
      const body: unknown = held[1];
      if (body === null || NULL_BODY.includes(held[0])) return null;
      if (typeof body === 'string') return encoder.encode(body);
      // A copy: the record keeps it, and the handler may write on into its own.
      return body instanceof Uint8Array ? Uint8Array.from(body) : undefined;
    }
    return undefined;
  }
}

/** As a whole answer would take it. */
function isStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
}

const encoder = new TextEncoder();

/** Undefined where it is not declared. Node's parser gives exactly so many bytes. */
function lengthOf({ headers }: Incoming): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  const declared = headers['content-length'] ?? '0';
  return typeof declared === 'string' && /^\d{1,15}$/.test(declared) ? Number(declared) : undefined;
}

async function readWhole(raw: Request): Promise<RawBody> {
  try {
    return { kind: 'body', raw: new Uint8Array(await raw.arrayBuffer()) };
  } catch {
    return { kind: 'unreadable', detail: BROKEN_BODY };
  }
}

/**
 * The request that the handler gets. It is a `Request` to whoever asks, reads its body from memory, and becomes a whole
 * one only for what needs that.
 */
class OwnRequest {
  readonly #from: Request;
  readonly #body: Bytes;
  readonly #attempt: Pick<Attempt, 'signal'>;
  #isUsed = false;
  #whole: Request | null = null;

  constructor(from: Request, body: Bytes, attempt: Pick<Attempt, 'signal'>) {
    this.#from = from;
    this.#body = body;
    this.#attempt = attempt;
  }

  get method(): string {
    return this.#from.method;
  }

  get url(): string {
    return this.#from.url;
  }

  get headers(): Headers {
    return this.#from.headers;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get bodyUsed(): boolean {
    return this.#isUsed || this.#whole?.bodyUsed === true;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(this.#take());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#take().slice().buffer;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#take().slice();
  }

  /** As whole as the platform makes them; its body is used up if this one's is. */
  whole(): Request {
    if (this.#whole === null) {
      const { method, url, headers } = this.#from;
      this.#whole = new Request(url, { method, headers, body: this.#body, signal: this.signal });
      if (this.#isUsed) void this.#whole.arrayBuffer();
    }
    return this.#whole;
  }

  #take(): Bytes {
    if (this.bodyUsed || this.#whole?.body?.locked === true) throw new TypeError('Body is unusable');
    this.#isUsed = true;
    void this.#whole?.arrayBuffer();
    return this.#body;
  }
}

for (const name of [
  'body',
  'cache',
  'credentials',
  'destination',
  'duplex',
  'integrity',
  'isHistoryNavigation',
  'isReloadNavigation',
  'keepalive',
  'mode',
  'redirect',
  'referrer',
  'referrerPolicy',
] as const) {
  Object.defineProperty(OwnRequest.prototype, name, {
    get(this: OwnRequest) {
      return (this.whole() as unknown as Record<string, unknown>)[name];
    },
  });
}
for (const name of ['blob', 'clone', 'formData'] as const) {
  Object.defineProperty(OwnRequest.prototype, name, {
    value(this: OwnRequest) {
      return this.whole()[name]();
    },
  });
}
Object.defineProperty(OwnRequest.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  value(
    this: OwnRequest,
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ) {
    return inspect(this.whole(), options);
  },
});
