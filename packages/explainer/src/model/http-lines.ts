/** Requests and answers as they are on the wire: plain data. */

/** Lines of a head. */
type Headers = readonly (readonly [name: string, value: string])[];

/** A request of the client. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** An answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** What answers requests. */
export type Serve = (request: HttpRequest) => Promise<HttpAnswer>;

/** An answer in JSON. */
export function json(status: number, value: unknown, headers: Headers = []): HttpAnswer {
  return {
    status,
    headers: [['Content-Type', 'application/json'], ...headers],
    body: JSON.stringify(value),
  };
}

/** The value of a header, or undefined. */
export function header({ headers }: { readonly headers: Headers }, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}

/** An amount as people write it. */
export function euros(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A time as people write it. */
export function seconds(ms: number): string {
  if (ms >= HOUR_MS) return `${Math.floor(ms / HOUR_MS)} h ${seconds(ms % HOUR_MS)}`;
  if (ms >= MINUTE_MS) return `${Math.floor(ms / MINUTE_MS)} min ${seconds(ms % MINUTE_MS)}`;
  return `${(ms / 1000).toFixed(2)} s`;
}
