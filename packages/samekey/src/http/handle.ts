/**
 * The whole HTTP flow, once, for every framework: key → scope → body → fingerprint → engine → the answer.
 *
 * Invariants: what is refused never reaches the handler · the handler's answer leaves only when its record stands for
 * it, or marked `Idempotency-Stored: false` · a mistake of set-up is handed to the framework as an error, never guessed
 * around.
 */

import type { Ending } from '../engine/attempt.ts';
import type { Engine } from '../engine/engine.ts';
import { isNotExecutedError, isValueError, OptionsError } from '../core/errors.ts';
import { checkKey, describeKeyFault, type KeyOptions, looksPersonal } from '../core/key.ts';
import { keyAnywhere, keyElsewhere, type KeyRead } from './key-place.ts';
import { type KeyHeader, parseKeyHeader, severalKeys } from './key-header.ts';
import { type OperationOfRequest, operationOfRequest } from '../core/operation.ts';
import { callListener, textOfError } from '../core/listener.ts';
import { kindOf } from '../core/options.ts';
import type { Outcome } from '../core/outcome.ts';
import { response } from '../core/response.ts';
import { type Issue, validate } from '../core/schema.ts';
import type { Handler, Work } from '../engine/work.ts';
import { INPUT_MAX_BYTES } from '../ways/input.ts';
import { otherReplay, redacted } from './answer-hooks.ts';
import { callerParts } from './caller.ts';
import type { Exchange, HandlerEnd, HttpRequest } from './exchange.ts';
import { untimeliness } from './freshness.ts';
import { parseJson } from './json-body.ts';
import {
  type Asked,
  bindingOf,
  type Common,
  identitiesOf,
  identityNow,
  isBridged,
  placeNow,
  type Places,
  placesOf,
} from './places.ts';
import { isFinalStatus, type Route } from './route.ts';
import { sendOutcome } from './send-outcome.ts';
import type { Invalid, Prepared, Wrapped } from './wrapped.ts';

const NOT_JSON: Outcome = { kind: 'request-malformed', detail: 'The request’s body is not JSON.' };

/** Handles one exchange. Resolves when it has been ended; never rejects. */
export async function handle<Native>(
  engine: Engine,
  route: Route<Native>,
  exchange: Exchange<Native>,
  wrapped: Wrapped<Native> | null = null,
): Promise<void> {
  const { request } = exchange;
  const method = request.method.toUpperCase();
  try {
    if (!route.methods.has(method)) return exchange.pass();
    if (route.skip !== null && isSkipped(engine, route, exchange, route.skip(exchange.native)))
      return exchange.pass();
    const lines = keyLines(route, request);
    const mayPass = lines.length === 0 && !isAsked(route, exchange, method);
    // Without another place to look at it passes in the same turn in which it came.
    if (mayPass && (route.keyIn === null || !(await isBrought(route, exchange)))) {
      if (route.required) engine.misuse('method-not-asked', notAsked(method));
      return exchange.pass();
    }
    const startedAt = engine.world.monotonicNow();
    const operation = operationOfRequest(route.operation, request, request.route, route.given);
    const prepared = await prepare(engine, route, exchange, operation, lines, wrapped);
    let outcome: Outcome;
    if ('work' in prepared) {
      outcome =
        'invalid' in prepared
          ? await engine.meetInvalid(prepared.work, prepared.invalid)
          : await engine.run(prepared.work, prepared.handler);
      if (engine.world.probe !== undefined) await engine.world.probe('answer.before', prepared.work.id);
    } else {
      outcome = prepared.outcome;
      engine.tellRefused(outcome, operation.label, startedAt);
    }
    tellRoute(engine, route, exchange, outcome);
    const key = 'work' in prepared ? prepared.work.id.key : null;
    const answered =
      route.onReplay === null || outcome.kind !== 'replay' || key === null
        ? outcome
        : await otherReplay(engine, route.onReplay, exchange.native, outcome, key);
    await sendOutcome(route, exchange, answered, wrapped, key);
    if ('work' in prepared)
      if (engine.world.probe !== undefined) await engine.world.probe('answer.sent', prepared.work.id);
  } catch (error) {
    exchange.fail(error);
  }
}

/** Whether a request without a key is refused. */
function isAsked<Native>(route: Route<Native>, { request }: Exchange<Native>, method: string): boolean {
  return route.required && (route.asked.has(method) || request.route?.isForMethod === true);
}

/** Whether a request without a key in its headers brings one elsewhere, or something that must be refused. */
async function isBrought<Native>(route: Route<Native>, exchange: Exchange<Native>): Promise<boolean> {
  return (await keyElsewhere(route, exchange)).kind !== 'missing';
}

function notAsked(method: string): string {
  return `A ${method} without a key went through idempotent(), which stands for all methods here: it ran unprotected. Put idempotent() on the route of that method, or say in methods which ones must bring a key.`;
}

/** Whether the application lets the request pass unprotected, which is told of, once for each operation. */
function isSkipped<Native>(
  engine: Engine,
  route: Route<Native>,
  { request }: Exchange<Native>,
  given: unknown,
): boolean {
  if (typeof given !== 'boolean')
    throw new OptionsError(`skip gives true or false at once; it gave ${kindOf(given)}.`);
  if (given) {
    const { label } = operationOfRequest(route.operation, request, request.route, route.given);
    engine.misuse(
      'request-skipped',
      'skip let a request pass: it ran unprotected, as every other one for which skip gives true.',
      label,
    );
  }
  return given;
}

async function handlerOf<Native>(
  engine: Engine,
  route: Route<Native>,
  exchange: Exchange<Native>,
  wrapped: Wrapped<Native> | null,
  body: Uint8Array,
): Promise<Prepared | Invalid | { readonly outcome: Outcome }> {
  if (wrapped === null) {
    const own = { input: null, entry: 'run', pendingTimeMaxMs: 0 } as const;
    if (route.schema !== null) {
      const parsed = parseJson(body);
      if ('fault' in parsed) return { outcome: NOT_JSON };
      const checked = await validate(route.schema, parsed.value);
      if ('issues' in checked) return { ...own, invalid: checked.issues };
    }
    return { ...own, handler: passThrough(engine, route, exchange) };
  }
  try {
    return await wrapped.prepare(exchange.native, body, route.schema);
  } catch (error) {
    // An input that is too much to be kept is what the client sent (F90).
    if (isValueError(error) && error.fault === 'too-large')
      return { outcome: { kind: 'request-too-large', sizeMaxBytes: INPUT_MAX_BYTES } };
    return { outcome: malformed(error) };
  }
}

/** What the client sent is not what is read of it. Throws what is no fault of the client's. */
function malformed(error: unknown): Outcome {
  const isTooDeep = isValueError(error) && error.fault === 'too-deep';
  if (!isTooDeep && !isNotExecutedError(error)) throw error;
  return { kind: 'request-malformed', detail: error.message };
}

const TIMEOUT_ANSWERED =
  'A protected route answered 408 or 504. If a time-out middleware gave it, its handler may still be at work, which cannot be seen from here: nobody knows the outcome. Use attemptTimeMaxMs and the attempt’s signal instead: then the handler is told to stop, and its late answer is recorded.';

/** The framework's own handler, its answer held. */
function passThrough<Native>(engine: Engine, route: Route<Native>, exchange: Exchange<Native>): Handler {
  return {
    async start(_attempt, { attempt }) {
      const end = await exchange.run(attempt);
      if (end.kind === 'answered' && (end.answer.status === 408 || end.answer.status === 504))
        engine.misuse('time-out-answered', TIMEOUT_ANSWERED);
      return endingOf(end, engine, route);
    },
    onLate: (tell) => exchange.onLateAnswer?.((end) => tell(endingOf(end, engine, route))),
    endingSoFar() {
      const head = exchange.answerSoFar();
      // What may run again has not ended: its handler goes on.
      if (head === null || !isFinalStatus(route, head.status)) return null;
      return endingOf({ kind: 'answered', answer: head }, engine, route);
    },
  };
}

/** Everything that can be refused before the store is asked, in the order of contract §4.2. */
async function prepare<Native>(
  engine: Engine,
  route: Route<Native>,
  exchange: Exchange<Native>,
  operation: OperationOfRequest,
  lines: readonly string[],
  wrapped: Wrapped<Native> | null,
): Promise<
  | { readonly work: Work; readonly handler: Handler }
  | { readonly work: Work; readonly invalid: readonly Issue[] }
  | { readonly outcome: Outcome }
> {
  // Only what is not there yet is waited for: each turn is one more for every request.
  const given = route.scope(exchange.native);
  const scope = callerParts(engine, operation.label, isPending(given) ? await given : given);
  if (scope === null) return { outcome: { kind: 'anonymous' } };
  let parsed: KeyRead = keyOf(lines, route, exchange.request);
  if (route.keyIn !== null) parsed = await keyAnywhere(route, exchange, parsed);
  if (parsed.kind !== 'key') return { outcome: noKey(engine, route, parsed) };
  const { native, request } = exchange;
  if (route.freshness !== null || route.firstSent !== null) {
    const untimely = await untimeliness(route, native, request, parsed.key, engine.world);
    if (untimely !== null) return { outcome: untimely };
  }
  const binding =
    route.bindTo === null ? undefined : await bindingOf(engine, operation.label, route.bindTo, native);
  if (binding === null) return { outcome: { kind: 'anonymous' } };
  const asked: Asked<Native> = { native, request, operation, scope, key: parsed.key };
  let bridged: Awaited<ReturnType<typeof identitiesOf<Native>>> | null = null;
  if (isBridged(route)) {
    bridged = await identitiesOf(engine, route, asked);
    if ('outcome' in bridged) return bridged;
  }
  const body = await exchange.readBody(route.requestSizeMaxBytes);
  if (body.kind === 'unreadable') return { outcome: { kind: 'request-unreadable', detail: body.detail } };
  const ifNew = ruleForNew(parsed.key, route.key);
  if (body.kind === 'too-large') {
    const ids = (bridged?.all ?? [identityNow(route, asked)]).map(({ id }) => id);
    // A key that was paid under a looser rule is not told that its request can never be answered.
    return {
      outcome: (await engine.meetUnread(ids, wrapped?.mayBeUnseen === true)) ??
        ifNew ?? { kind: 'request-too-large', sizeMaxBytes: route.requestSizeMaxBytes },
    };
  }
  if (body.kind === 'consumed') throw consumed(engine);
  const prepared = await handlerOf(engine, route, exchange, wrapped, body.decoded);
  if ('outcome' in prepared) return prepared;
  if (looksPersonal(parsed.key) !== null) {
    engine.misuse(
      'key-personal-data',
      'A client sent a key that looks like personal data: ask for random keys (UUIDs).',
    );
  }
  const common = commonOf(exchange, body.decoded);
  let placed: Places | Promise<Places>;
  try {
    placed =
      bridged === null
        ? placeNow(identityNow(route, asked), common, binding)
        : await placesOf(engine, bridged.all, asked, common, binding);
  } catch (error) {
    // A function that says what counts reads the body, too.
    return { outcome: malformed(error) };
  }
  return {
    work: workOf(route, operation, isPending(placed) ? await placed : placed, prepared, ifNew),
    ...('invalid' in prepared ? { invalid: prepared.invalid } : { handler: prepared.handler }),
  };
}

/** The request as the engine sees it. */
function workOf<Native>(
  route: Route<Native>,
  operation: OperationOfRequest,
  places: Places,
  prepared: Prepared | Invalid,
  ifNew: Outcome | null,
): Work {
  return {
    operation: operation.label,
    id: places.id,
    fingerprint: places.fingerprint,
    refingerprint: (label) => places.refingerprint(label),
    younger: places.younger,
    settings: route.settings,
    input: prepared.input,
    entry: prepared.entry,
    pendingTimeMaxMs: prepared.pendingTimeMaxMs,
    ifNew,
    takesSteps: prepared.takesSteps === true,
    mayBeUnseen: prepared.mayBeUnseen === true,
  };
}

/** What a key of that form meets unless it is known: a rule that a deploy has tightened refuses no retry (F118). */
function ruleForNew(key: string, options: KeyOptions): Outcome | null {
  const fault = checkKey(key, options);
  return fault === null ? null : { kind: 'key-malformed', fault, detail: describeKeyFault(fault, options) };
}

/**
 * Whether a request's body is read before its handler runs: for frameworks whose parsers stand in between. Of one that
 * may pass nothing is taken: what is too large would reach its handler cut.
 */
export function readsBody<Native>(
  route: Route<Native>,
  exchange: Exchange<Native>,
): boolean | Promise<boolean> {
  const { native, request } = exchange;
  if (!route.methods.has(request.method.toUpperCase()) || route.skip?.(native) === true) return false;
  if (keyLines(route, request).length > 0 || route.keyIn?.kind === 'body') return true;
  return route.keyIn !== null && isBrought(route, exchange);
}

/** The field lines of the first header that carries a key. */
function keyLines<Native>({ header, otherHeaders }: Route<Native>, request: HttpRequest): readonly string[] {
  const lines = request.headerLines(header);
  if (lines.length > 0) return lines;
  for (const other of otherHeaders) {
    const found = request.headerLines(other);
    if (found.length > 0) return found;
  }
  return lines;
}

/** The request's key. Where several headers carry one, it is one key or none: nobody can say which of two was meant. */
function keyOf<Native>(
  lines: readonly string[],
  { header, otherHeaders, keyGrammar: options }: Route<Native>,
  request: HttpRequest,
): KeyHeader {
  const parsed = parseKeyHeader(lines, options);
  if (otherHeaders.length === 0 || parsed.kind !== 'key') return parsed;
  for (const name of [header, ...otherHeaders]) {
    const other = parseKeyHeader(request.headerLines(name), options);
    if (other.kind === 'malformed') return other;
    if (other.kind === 'key' && other.key !== parsed.key) return severalKeys(options);
  }
  return parsed;
}

/** What a request is told that has no key which could be taken. Throws for a mistake of set-up. */
function noKey<Native>(
  engine: Engine,
  { requestSizeMaxBytes }: Route<Native>,
  read: Exclude<KeyRead, { readonly kind: 'key' }>,
): Outcome {
  switch (read.kind) {
    case 'missing':
      return { kind: 'key-missing' };
    case 'malformed':
      return { kind: 'key-malformed', fault: read.fault, detail: read.detail };
    case 'unreadable':
      return { kind: 'request-unreadable', detail: read.detail };
    case 'not-json':
      return NOT_JSON;
    case 'too-large':
      return { kind: 'request-too-large', sizeMaxBytes: requestSizeMaxBytes };
    case 'consumed':
      throw consumed(engine);
    default:
      return read satisfies never;
  }
}

/** Not by `instanceof`: a promise may come from another realm. */
function isPending<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

function consumed(engine: Engine): OptionsError {
  const error = new OptionsError(
    'The request body was read before Samekey saw it, so a retry could not be told from another request. Put the protected route before the body parser, or keep the bytes: express.json({ verify: rememberRawBody }).',
  );
  engine.misuse('body-consumed', error.message);
  return error;
}

function commonOf<Native>({ request }: Exchange<Native>, body: Uint8Array): Common {
  return {
    query: request.query,
    headers: (name) => request.headerLines(name),
    contentType: request.headerLines('content-type')[0],
    body,
  };
}

/** What the engine learns of a handler's end. */
function endingOf(end: HandlerEnd, engine: Engine, { redact }: Pick<Route<never>, 'redact'>): Ending {
  if (end.kind === 'threw') return { kind: 'threw', error: end.error, response: response(500) };
  if (end.kind === 'silent')
    return { kind: 'threw', error: end.error, response: response(500), isSilent: true };
  const answer = redact === null ? end.answer : redacted(redact, end.answer, engine);
  if (end.isPerhapsAnothers === true) return { kind: 'answered', response: answer, isPerhapsAnothers: true };
  return { kind: 'answered', response: answer };
}

function tellRoute<Native>(
  engine: Engine,
  route: Route<Native>,
  exchange: Exchange<Native>,
  outcome: Outcome,
): void {
  if (route.onOutcome === null || route.onOutcome === undefined) return;
  callListener(route.onOutcome, [exchange.native, outcome], (error) => {
    engine.misuse('outcome-listener-threw', `onOutcome threw: ${textOfError(error)}`);
  });
}
