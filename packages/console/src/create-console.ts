/**
 * The console: a page and an API for whoever is on call, over `samekey/operator`. Mounted in an application of yours,
 * or run by `samekey console`.
 *
 * Invariants: nobody is let in by default, and whoever is may only look unless a right was given · every act is the
 * operator's, under the fence of what was seen, with a reason and a name in the audit · what is asked about a key
 * stands in bodies, never in an address.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Store } from 'samekey';
import { createOperator } from 'samekey/operator';
import { cookieOf, isToken, refuseForeign, refuseForged, userOf } from './access.ts';
import { answer, faultAnswer, json } from './guarded-answers.ts';
import { answerVerb } from './api-verbs.ts';
import { asset } from './assets.ts';
import { readBody } from './asked-body.ts';
import { bulkJobs, type BulkJobs } from './bulk-jobs.ts';
import { ConsoleFault, faultOf } from './fault.ts';
import { nodeHandler } from './node-handler.ts';
import { type CheckedOptions, type ConsoleOptions, readConsoleOptions } from './options.ts';
import { overviewReader, type OverviewReader, type StoreOfConsole } from './overview.ts';
import { createWatch, type Watch } from './live-overview.ts';

/** A console. */
export interface Console {
  /** Answers a request; 404 for what is not below its path. Never throws. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for `node:http`, and as a middleware of Express or Connect; what is not below its path is `next`'s. */
  readonly node: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;
  /** Ends the live streams, and jobs after the row that is under way: resolves then. Close the store after it. */
  close(): Promise<void>;
}

/** What the parts of one console share. */
interface Parts {
  readonly options: CheckedOptions;
  readonly store: StoreOfConsole;
  readonly overview: OverviewReader;
  readonly watch: Watch;
  readonly jobs: BulkJobs;
}

/** Makes one. Throws `OptionsError`. */
export function createConsole(given: ConsoleOptions): Console {
  const options = readConsoleOptions(given);
  const store: StoreOfConsole = options.store;
  const told = (error: unknown): void => tellHost(options, error);
  const { countMs } = options;
  const overview = overviewReader(store, createOperator({ store, actor: null }), { countMs, told });
  const watch = createWatch(overview);
  const jobs = bulkJobs(told);
  const parts: Parts = { options, store, overview, watch, jobs };
  const fetch = async (request: Request): Promise<Response> => {
    try {
      return await answerTo(request, parts);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null || fault.cause !== undefined) tellHost(options, fault?.cause ?? error);
      return faultAnswer(
        fault ??
          new ConsoleFault(
            500,
            'bug',
            'The console failed; what was asked for may or may not have been done.',
          ),
      );
    }
  };
  return Object.freeze<Console>({
    fetch,
    node: nodeHandler(fetch, options.path),
    close() {
      watch.close();
      return jobs.close();
    },
  });
}

/** Told to the application, and not to who asked. A listener that fails must not fail the answer. */
function tellHost({ onError }: Parts['options'], error: unknown): void {
  try {
    // oxlint-disable-next-line no-console -- where nobody listens it must not be lost
    (onError ?? console.error)(error);
  } catch {
    // Nobody is left to tell.
  }
}

async function answerTo(request: Request, parts: Parts): Promise<Response> {
  const { options, store } = parts;
  const { pathname, search } = new URL(request.url);
  const { path } = options;
  // Addresses of the page are relative to its folder.
  if (pathname === path && path !== '')
    return answer(308, null, { Location: `${path.slice(path.lastIndexOf('/') + 1)}/${search}` });
  if (!pathname.startsWith(`${path}/`)) throw nothing();
  const name = pathname.slice(path.length + 1);
  if (request.method === 'GET' || request.method === 'HEAD') return readable(name, request, parts);
  if (request.method !== 'POST' || !name.startsWith('api/'))
    throw new ConsoleFault(405, 'method', 'There is GET for the page, and POST for what it asks.');
  refuseForged(request, options.origin);
  if (name === 'api/session') return signIn(request, options);
  const user = await userOf(request, options);
  const body = await readBody(request);
  return json(
    200,
    await answerVerb(name.slice('api/'.length), {
      store,
      overview: parts.overview,
      jobs: parts.jobs,
      user,
      body,
    }),
  );
}

async function readable(name: string, request: Request, { options, store, watch }: Parts): Promise<Response> {
  if (name === 'health') return health(store);
  if (name === 'api/events') {
    // An answer without a body is read by nobody, and its stream would never end.
    if (request.method === 'HEAD')
      throw new ConsoleFault(405, 'method', 'A live stream is there for GET alone.');
    refuseForeign(request, options.origin);
    await userOf(request, options);
    const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
    return answer(
      200,
      watch.open(() => userOf(request, options)),
      headers,
    );
  }
  const file = await asset(name, request);
  if (file === null) throw nothing();
  return file;
}

function nothing(): ConsoleFault {
  return new ConsoleFault(404, 'nothing', 'There is nothing here.');
}

/** For whoever watches it: no more than whether the store answers. */
async function health(store: Store): Promise<Response> {
  try {
    await store.find([{ scope: 'samekey-console|health', key: 'health' }]);
    return json(200, { status: 'ok' });
  } catch {
    return json(503, { status: 'store' });
  }
}

/** A token that the page has from its address becomes a cookie that no script reads and no other page sends. */
async function signIn(request: Request, { token, path, origin }: CheckedOptions): Promise<Response> {
  if (token === undefined) throw nothing();
  const body = await readBody(request);
  if (!isToken(body['token'], token))
    throw new ConsoleFault(
      401,
      'nobody',
      'This is not the token of this console: it may have been started anew.',
    );
  const { name, value } = cookieOf(token);
  // A proxy that ends TLS asks without it.
  const isSecure = new URL(origin ?? request.url).protocol === 'https:' ? '; Secure' : '';
  const cookie = `${name}=${value}; Path=${path === '' ? '/' : path}; HttpOnly; SameSite=Strict${isSecure}`;
  return json(200, { ok: true }, { 'Set-Cookie': cookie });
}
