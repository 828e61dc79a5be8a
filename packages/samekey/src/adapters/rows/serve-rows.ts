/**
 * Serves an operation to the rows of a batch request.
 *
 * Invariants: a row is a call of its own, and what becomes of it changes no other · rows begin in their order, at most
 * `atOnceMax` at once, and are answered in their order · of two rows with one key the second begins when the first has
 * ended, so that it is told the same or refused, and never that the first is under way.
 */

import { OptionsError } from '../../core/errors.ts';
import { aFunction, readOptions, required, type Table, wholeNumber } from '../../core/options.ts';
import type { Ended, Refusal } from '../../http-call/call-exchange.ts';
import { CALL_SERVE_ROWS, type CallServeOptions, compileServedCalls } from '../../http-call/call-route.ts';
import type { Operation } from '../../ways/define-operation.ts';

/** A row: what scope functions and their like get. */
export interface RowCall<Request = unknown, Row = unknown> {
  /** Whatever the rows came with: the framework's request. */
  readonly request: Request;
  /** As the client sent it. */
  readonly row: Row;
  /** Its place among the rows, from 0. */
  readonly index: number;
}

interface OwnOptions<Call> {
  /** The key of a row: a pure function, such as `({ row }) => row.idempotency_key`. A row without one is refused. */
  readonly keyIn: (call: Call) => string | null | undefined | Promise<string | null | undefined>;
  /** Rows under way at once; default 8. */
  readonly atOnceMax?: number;
  /** Rows of one request; default 1,000. More are refused whole. */
  readonly rowsMax?: number;
}

type CommonOptions<Call, Input> = Omit<CallServeOptions<Call, Input>, 'header' | 'keyIn'>;

/** Options of an operation that is served to rows. */
export interface RowsOptions<Request, Row, Input>
  extends CommonOptions<RowCall<Request, Row>, Input>,
    OwnOptions<RowCall<Request, Row>> {}

/** What became of a row. */
export interface RowAnswer<Value = unknown> {
  /** Its key; null: it has none. */
  readonly key: string | null;
  /** The HTTP status that the row alone would have had. */
  readonly status: number;
  /** What the operation replied, now or earlier; undefined where `refusal` or `error` says why there is nothing. */
  readonly value: Value | undefined;
  /** Why the operation did not reply: the members of a problem document (RFC 9457). */
  readonly refusal: Refusal | null;
  /** What the operation threw, for your log and not for the client; undefined if it threw nothing. */
  readonly error: unknown;
  /** Whether the reply is that of an earlier run. */
  readonly isReplay: boolean;
}

/** What became of a batch: 207 and its rows, or why none of them was looked at. */
export type RowsAnswer<Value = unknown> =
  | { readonly status: 207; readonly rows: readonly RowAnswer<Value>[] }
  | { readonly status: 400 | 413; readonly detail: string };

const { header: _header, keyIn: _keyIn, ...KEYED } = CALL_SERVE_ROWS;
const ROWS = {
  ...KEYED,
  keyIn: required(
    aFunction<OwnOptions<never>['keyIn']>(),
    'serveRows() needs keyIn, which gives the key of a row: ({ row }) => row.idempotency_key.',
  ),
  atOnceMax: wholeNumber(1, 1_000, 8),
  rowsMax: wholeNumber(1, undefined, 1_000),
} satisfies Table<CommonOptions<never, never> & OwnOptions<never>>;

/**
 * What answers the rows of a batch request, of what `samekey.transactional` and its like have defined: give it the
 * request and its rows, and send what it gives as your API writes it.
 *
 * ```ts
 * const payAll = serveRows(pay, {
 *   scope: ({ request }) => request.user.id,
 *   keyIn: ({ row }) => row.idempotency_key,
 * });
 * ```
 *
 * Resolves when every row has ended. Throws `OptionsError` at once for options that cannot work.
 */
export function serveRows<Request, Row, Input, Value>(
  operation: Operation<Input, Value>,
  options: RowsOptions<Request, Row, Input>,
): (request: Request, rows: readonly Row[]) => Promise<RowsAnswer<Value>> {
  const { atOnceMax, rowsMax } = readOptions('serveRows', ROWS, options);
  const { atOnceMax: _atOnce, rowsMax: _most, keyIn, ...own } = options;
  // Asked once for each row: what it gave is what the row is answered with.
  const keys = new WeakMap<object, string | null>();
  const { meet } = compileServedCalls<RowCall<Request, Row>, Input>(
    operation,
    ({ row }) => row as unknown as Input,
    { ...own, keyIn: (call) => keys.get(call) ?? null },
  );

  async function answerOf(native: RowCall<Request, Row>, ahead: Map<string, Promise<unknown>>) {
    const given: unknown = await keyIn(native);
    if (given !== null && given !== undefined && typeof given !== 'string')
      throw new OptionsError(`keyIn of serveRows() gives a text or nothing; it gave a ${typeof given}.`);
    const key = given ?? null;
    keys.set(native, key);
    const before = key === null ? undefined : ahead.get(key);
    const call = { native, input: native.row, headerLines: () => [], isOneOfSeveral: false };
    const ended = (async () => {
      await before;
      return rowAnswer<Value>(key, await meet(call));
    })();
    if (key !== null) ahead.set(key, ended);
    return ended;
  }

  return async (request, rows) => {
    if (!Array.isArray(rows)) return { status: 400, detail: 'The rows are a list.' };
    if (rows.length > rowsMax)
      return { status: 413, detail: `One request takes ${rowsMax} rows, and this one has ${rows.length}.` };
    const answers: RowAnswer<Value>[] = [];
    const ahead = new Map<string, Promise<unknown>>();
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < rows.length) {
        const index = next++;
        const native = { request, row: rows[index] as Row, index };
        answers[index] = await answerOf(native, ahead).catch((error: unknown) => threw(null, error));
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnceMax, rows.length) }, work));
    return { status: 207, rows: answers };
  };
}

function rowAnswer<Value>(key: string | null, end: Ended): RowAnswer<Value> {
  if (end.kind === 'threw') return threw(key, end.error);
  const isReplay = end.lines.some(([name]) => name.toLowerCase() === 'idempotency-replayed');
  const common = { key, error: undefined, isReplay };
  return end.kind === 'refused'
    ? { ...common, status: end.refusal.status, value: undefined, refusal: end.refusal }
    : { ...common, status: end.status, value: end.value as Value, refusal: null };
}

function threw<Value>(key: string | null, error: unknown): RowAnswer<Value> {
  return { key, status: 500, value: undefined, refusal: null, error, isReplay: false };
}
