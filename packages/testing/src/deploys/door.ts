/** A door of code before or after a deploy: the whole HTTP flow, without HTTP. What was asked is said, what it met is told in a word. */

import type { Attempt } from 'samekey/internals/engine/attempt';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import type { BodyRead, Exchange, HandlerEnd } from 'samekey/internals/http/exchange';
import { handle } from 'samekey/internals/http/handle';
import { compileRoute, type RouteOptions } from 'samekey/internals/http/route';
import { compileServed, type ServeOptions } from 'samekey/internals/http/serve';
import { internalsOf, type Samekey } from 'samekey/internals/samekey';
import type { DeferredOptions } from 'samekey/internals/ways/deferred';
import type { PlainDefinition } from 'samekey/internals/ways/plain';

/** The framework's request. */
export interface Native {
  readonly tenant: string;
  readonly user: string;
  readonly session: string;
}

/** One request; all members have defaults. */
export interface Sent {
  readonly key?: string;
  readonly header?: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  /** Lines beside the key's. */
  readonly lines?: readonly (readonly [name: string, value: string])[];
}

/** What a handler does. */
export type Handling = (attempt: Attempt) => Promise<number> | number;

/** Options of a route as code has them. */
export type DoorOptions = Partial<RouteOptions<Native>>;

/** A door: asks, and resolves with the word for what was met. */
export interface Door {
  ask(sent: Sent, handling: Handling): Promise<string>;
}

const NATIVE: Native = { tenant: 'acme', user: 'ann', session: 's-1' };

/** The framework's own handler behind `idempotent`. */
export function routeDoor(samekey: Samekey, options: DoorOptions): Door {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<Native>(
    defaults,
    { scope: ({ user }) => [user], operation: 'pay', ...options },
    engine.world,
    engine.fingerprintSecrets,
  );
  return {
    ask: (sent, handling) =>
      exchanged(sent, route.requestSizeMaxBytes, handling, (exchange) => handle(engine, route, exchange)),
  };
}

/** A deferred operation that is served: its work is left to a worker, of which there is none. */
export function servedDoor(
  samekey: Samekey,
  definition: Partial<PlainDefinition<unknown, unknown>>,
  options: Partial<ServeOptions<Native, unknown>>,
  deferred: DeferredOptions = {},
): Door {
  const operation = samekey.deferred(
    samekey.plain<unknown, unknown>({
      name: 'pay',
      policy: 'standard',
      run: () => Promise.reject(new Error('There is no worker.')),
      ...definition,
    }),
    deferred,
  );
  const served = compileServed<Native, unknown>(operation, { scope: ({ user }) => [user], ...options });
  return {
    ask: (sent, handling) =>
      exchanged(sent, served.route.requestSizeMaxBytes, handling, (exchange) =>
        handle(served.engine, served.route, exchange, served.wrapped),
      ),
  };
}

async function exchanged(
  {
    key = 'key-1',
    header = 'idempotency-key',
    method = 'POST',
    path = '/pay',
    body = '{"amount":1}',
    lines = [],
  }: Sent,
  sizeMaxBytes: number,
  handling: Handling,
  through: (exchange: Exchange<Native>) => Promise<void>,
): Promise<string> {
  const all = [['content-type', 'application/json'], [header, `"${key}"`], ...lines] as const;
  const bytes = new TextEncoder().encode(body);
  let word = '';
  let answered = 0;
  const exchange: Exchange<Native> = {
    native: NATIVE,
    request: {
      method,
      path,
      query: '',
      route: null,
      headerLines: (name) => all.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value),
    },
    isBroken: false,
    readBody: (): Promise<BodyRead> =>
      Promise.resolve(bytes.length > sizeMaxBytes ? { kind: 'too-large' } : { kind: 'body', decoded: bytes }),
    async run(attempt): Promise<HandlerEnd> {
      answered = await handling(attempt);
      return { kind: 'answered', answer: response(answered, [], 'paid') };
    },
    answerSoFar: () => null,
    pass: () => {
      word = 'passed';
    },
    release: () => {
      word = answered < 300 ? 'run' : `run, ${answered}`;
    },
    replace: (answer) => {
      word = wordOf(answer);
    },
    fail(error) {
      throw error;
    },
  };
  await through(exchange);
  return word;
}

/** `replay`, or status and code. */
function wordOf({ status, headers, body }: StoredResponse): string {
  if (headers.some(([name]) => /^idempoten(?:cy|t)-replayed$/i.test(name))) return 'replay';
  const problem = JSON.parse(new TextDecoder().decode(body ?? undefined)) as {
    readonly code?: string;
    readonly error?: { readonly code?: string; readonly type?: string };
  };
  const code = problem.code ?? problem.error?.code ?? problem.error?.type ?? '';
  // Stripe's spelling of the same.
  return `${status} ${code === 'idempotency_key_in_use' ? 'in-progress' : code.replaceAll('_', '-')}`.trim();
}
