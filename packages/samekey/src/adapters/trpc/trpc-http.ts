/** The HTTP request of a call: where its key stands, and where marks go that have no place in tRPC's own answer. */

import type { Ended } from '../../http-call/call-exchange.ts';
import { linesOf, type RequestOfCalls } from '../../http-call/request-lines.ts';

/** What `createContext` is given by every adapter of tRPC for HTTP. */
export interface TrpcHttp {
  readonly req: RequestOfCalls;
  /** The calls of the request. */
  readonly info: { readonly calls: readonly { readonly path: string }[] };
  /** Node's response, or that of a framework on it. */
  readonly res?: object;
  /** Of the Fetch adapter. */
  readonly resHeaders?: Headers;
}

/** Lines of a header, if the call is one of the request's own: not one that a resolver makes with the same context. */
export function headerLinesOf(http: TrpcHttp | null, path: string, name: string): readonly string[] {
  if (!http?.info.calls.some((call) => call.path === path)) return [];
  return linesOf(http.req, name);
}

/** Sets marks and `Retry-After` on the response, if it is for this call alone and has not begun. */
export function mark(http: TrpcHttp | null, path: string, end: Ended): void {
  if (!('lines' in end) || http?.info.calls.length !== 1 || http.info.calls[0]?.path !== path) return;
  const { res, resHeaders } = http;
  const { headersSent, setHeader, header } = (res ?? {}) as {
    readonly headersSent?: boolean;
    readonly setHeader?: (name: string, value: string) => void;
    readonly header?: (name: string, value: string) => void;
  };
  for (const [name, value] of end.lines) {
    resHeaders?.set(name, value);
    if (headersSent !== true) (setHeader ?? header)?.call(res, name, value);
  }
}
