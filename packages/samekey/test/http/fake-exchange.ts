/** An exchange without HTTP: what was asked is said, what became of it is written down. */

import type { Attempt } from '../../src/engine/attempt.ts';
import { type HeaderLine, response, type StoredResponse } from '../../src/core/response.ts';
import type { BodyRead, Exchange, HandlerEnd } from '../../src/http/exchange.ts';
import { handle } from '../../src/http/handle.ts';
import { compileRoute, type RouteOptions } from '../../src/http/route.ts';
import { internalsOf, type Samekey } from '../../src/samekey.ts';

export interface Asked {
  readonly method?: string;
  readonly headers?: readonly HeaderLine[];
  readonly routePattern?: string | null;
  readonly path?: string;
  readonly query?: string;
  /** The framework's request; default a text. */
  readonly native?: string;
  readonly body?: () => Promise<BodyRead>;
  readonly handler?: (attempt: Attempt) => Promise<HandlerEnd> | HandlerEnd;
}

export interface Became {
  readonly end: 'passed' | 'released' | 'replaced' | 'failed';
  readonly extra: readonly HeaderLine[];
  readonly answer: StoredResponse | null;
  readonly error: unknown;
  /** What was called, in order. */
  readonly calls: readonly string[];
}

export const KEY: HeaderLine = ['Idempotency-Key', 'key-1'];
const OPTIONS: RouteOptions<string> = { policy: 'standard', scope: () => ['acme'] };

/** Handles one exchange to its end. */
export async function exchangeOf(
  samekey: Samekey,
  options: Partial<RouteOptions<string>>,
  asked: Asked = {},
): Promise<Became> {
  const { engine, defaults } = internalsOf(samekey);
  const calls: string[] = [];
  const ends: Became[] = [];
  const end = (kind: Became['end'], more: Partial<Became> = {}): void => {
    calls.push(kind);
    ends.push({ end: kind, extra: [], answer: null, error: null, calls, ...more });
  };
  const { headers = [KEY], handler = () => answered() } = asked;
  const exchange: Exchange<string> = {
    native: asked.native ?? 'the request',
    request: {
      method: asked.method ?? 'POST',
      path: asked.path ?? '/things',
      query: asked.query ?? '',
      route:
        asked.routePattern === undefined || asked.routePattern === null
          ? null
          : { pattern: asked.routePattern, mount: '', fitsPath: true, foldsCase: false, isForMethod: true },
      headerLines: (name) =>
        headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value),
    },
    isBroken: false,
    async readBody() {
      calls.push('readBody');
      return asked.body?.() ?? { kind: 'body', decoded: new Uint8Array(0) };
    },
    async run(attempt) {
      calls.push('run');
      return handler(attempt);
    },
    answerSoFar: () => null,
    pass: () => end('passed'),
    release: (extra) => end('released', { extra }),
    replace: (answer) => end('replaced', { answer }),
    fail: (error) => end('failed', { error }),
  };
  await handle(
    engine,
    compileRoute(defaults, { ...OPTIONS, ...options }, engine.world, engine.fingerprintSecrets),
    exchange,
  );
  const [only] = ends;
  if (only === undefined || ends.length > 1) throw new Error(`The exchange ended ${ends.length} times.`);
  return only;
}

export function answered(status = 201, headers: readonly HeaderLine[] = [], body = 'made'): HandlerEnd {
  return { kind: 'answered', answer: response(status, headers, body) };
}

/** The code of a problem document. */
export function codeOf({ answer }: Became): unknown {
  return (JSON.parse(new TextDecoder().decode(answer?.body ?? undefined)) as { code?: unknown }).code;
}
