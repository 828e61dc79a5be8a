/**
 * The adapter contract of the Fetch door as a program, for runtimes that no test runner of ours runs on: each test in turn, on
 * the runtime's own server, and one line of JSON at the end.
 */

import { adapterContract, type Served } from '../../../testing/src/adapter-contract.ts';
import { type FetchApp, fetchHarnessOn, listen } from '../adapters/fetch-harness.ts';

/** What it prints. */
export interface Report {
  readonly runtime: string;
  readonly passed: number;
  readonly failed: readonly { readonly title: string; readonly error: string }[];
}

/** The parts of Bun and Deno that serve. */
interface Runtimes {
  readonly Bun?: { serve(options: object): { readonly port: number; stop(now: boolean): Promise<void> } };
  readonly Deno?: {
    serve(options: object): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno } = globalThis as Runtimes;
const HOST = '127.0.0.1';
/** Longest time of one test. */
const TIME_MAX_MS = 60_000;

/** What an app throws is answered with 500, as by the servers of Node. */
function failing(): Response {
  return new Response('error', { status: 500 });
}

async function served(app: FetchApp): Promise<Served> {
  if (Bun !== undefined) {
    const server = Bun.serve({ port: 0, hostname: HOST, idleTimeout: 0, fetch: app, error: failing });
    return { port: server.port, close: () => server.stop(true) };
  }
  if (Deno !== undefined) {
    const abort = new AbortController();
    const { signal } = abort;
    const options = { port: 0, hostname: HOST, signal, handler: app, onError: failing, onListen() {} };
    const server = Deno.serve(options);
    return {
      port: server.addr.port,
      async close() {
        abort.abort();
      },
    };
  }
  return listen(app);
}

const tests: { readonly title: string; readonly body: () => Promise<void> }[] = [];
let part = '';
adapterContract(
  {
    describe(title, body) {
      part = title;
      body();
    },
    it: (title, body) => void tests.push({ title: `${part} · ${title}`, body }),
  },
  // The servers of Node begin what comes while they answer; these take the requests of a connection in turn.
  { ...fetchHarnessOn(served), hasPipelining: Bun === undefined && Deno === undefined },
);

const failed: { title: string; error: string }[] = [];
for (const { title, body } of tests) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${TIME_MAX_MS} ms`)), TIME_MAX_MS);
  });
  try {
    await Promise.race([body(), late]);
  } catch (error) {
    failed.push({ title, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } finally {
    clearTimeout(timer);
  }
}
const runtime = Bun === undefined ? (Deno === undefined ? 'node' : 'deno') : 'bun';
const report: Report = { runtime, passed: tests.length - failed.length, failed };
console.log(JSON.stringify(report));
process.exit(failed.length === 0 ? 0 : 1);
