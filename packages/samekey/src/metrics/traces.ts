/**
 * Spans by OpenTelemetry: reserving a key, each attempt of a handler, writing its end, each delivery. The application
 * passes in a tracer of `@opentelemetry/api`. Events come when something is over, so spans are made then, with the time
 * at which it began.
 *
 * Invariants: a span is a child of whatever span is active where its event is told, which is the request's · its key is
 * a hash. A handler's own spans are its siblings: its span does not exist while it runs.
 *
 * Sources: https://opentelemetry.io/docs/specs/otel/trace/api/ ·
 * https://www.w3.org/TR/trace-context/#traceparent-header
 */

import { HASH_SECRET_ROW } from './labels.ts';
import { OptionsError } from '../core/errors.ts';
import type { SamekeyEvent } from '../engine/events.ts';
import type { RecordId } from '../core/record.ts';
import { hashKey } from '../store/redact.ts';
import { readOptions, type Table } from '../core/options.ts';
import type { WorkerEvent } from '../worker/worker-events.ts';

/** What a span begins with. */
interface SpanStart {
  readonly kind: number;
  /** In milliseconds since 1970. */
  readonly startTime: number;
  readonly attributes: Record<string, string | number | boolean>;
  readonly links: { readonly context: SpanContext }[];
}

/** Names a span of another process. */
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote: boolean;
}

/** The part of OpenTelemetry's `Tracer` that is used. */
export interface TracerLike {
  startSpan(name: string, start: SpanStart): SpanLike;
}

/** The part of OpenTelemetry's `Span` that is used. */
interface SpanLike {
  isRecording(): boolean;
  setAttribute(name: string, value: string): unknown;
  setStatus(status: { readonly code: number }): unknown;
  end(endTime: number): void;
}

/** Options of `traceEvents`. */
export interface TraceOptions {
  /** Keys the hashes: without it whoever knows a caller can try keys out. 16 bytes or more. */
  readonly secret?: Uint8Array;
}

/** Listeners that make spans. */
export interface Traces {
  readonly samekey: (event: SamekeyEvent) => void;
  readonly worker: (event: WorkerEvent) => void;
}

const INTERNAL = 0;
const CONSUMER = 4;
const ERROR = 2;

type Attributes = SpanStart['attributes'];
interface Over {
  readonly name: string;
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly id?: RecordId;
  readonly failed?: boolean;
  readonly kind?: number;
  readonly links?: SpanStart['links'];
}

const TRACE_ROWS = { secret: HASH_SECRET_ROW } satisfies Table<TraceOptions>;

/** Makes listeners that trace. Throws `OptionsError`. */
export function traceEvents(tracer: TracerLike, options: TraceOptions = {}): Traces {
  const { secret } = readOptions('traceEvents', TRACE_ROWS, options);
  if (typeof tracer?.startSpan !== 'function')
    throw new OptionsError('traceEvents takes a tracer of @opentelemetry/api: trace.getTracer("samekey").');

  function span({
    name,
    durationMs,
    attributes,
    id,
    failed = false,
    kind = INTERNAL,
    links = [],
  }: Over): void {
    const endTime = Date.now();
    const startTime = endTime - durationMs;
    const made = tracer.startSpan(name, { kind, startTime, attributes, links });
    if (failed) made.setStatus({ code: ERROR });
    // A digest is only made where it is kept: most spans are sampled away.
    if (id !== undefined && made.isRecording()) made.setAttribute('samekey.key_hash', hashKey(id, secret));
    made.end(endTime);
  }

  return Object.freeze<Traces>({
    samekey(event) {
      if (event.type === 'claimed') {
        const resumed = event.resumed !== null;
        const attributes = { ...of(event), 'samekey.resumed': resumed, 'samekey.entry': event.entry };
        span({ name: 'samekey.reserve', durationMs: event.durationMs, attributes, id: event.id });
      } else if (event.type === 'outcome' && event.attempt === null && event.id !== null) {
        const { id, kind, durationMs } = event;
        const attributes = { ...of(event), 'samekey.outcome': kind, 'samekey.entry': event.entry };
        span({ name: 'samekey.reserve', durationMs, attributes, id, failed: kind === 'unavailable' });
      } else if (event.type === 'handler-ended') {
        const { ending, durationMs } = event;
        const attributes = { ...of(event), 'samekey.ending': ending };
        span({ name: 'samekey.handler', durationMs, attributes, id: event.id, failed: FAILED.has(ending) });
      } else if (event.type === 'finished') {
        const attributes = { ...of(event), 'samekey.to': event.to, 'samekey.reason': event.reason ?? '' };
        span({ name: 'samekey.finish', durationMs: event.durationMs, attributes, id: event.id });
      }
    },
    worker(event) {
      if (event.type !== 'delivered' && event.type !== 'delivery-failed' && event.type !== 'dead-letter')
        return;
      span({
        name: 'samekey.deliver',
        durationMs: event.durationMs,
        attributes: {
          'samekey.topic': event.topic,
          'samekey.message_id': event.id,
          'samekey.delivery': event.delivery,
          'samekey.dead': event.type === 'dead-letter',
        },
        failed: event.type !== 'delivered',
        kind: CONSUMER,
        links: linksOf(event.traceparent),
      });
    },
  });
}

function of(event: { readonly operation: string; readonly attempt: number | null }): Attributes {
  const attributes: Attributes = { 'samekey.operation': event.operation };
  if (event.attempt !== null) attributes['samekey.attempt'] = event.attempt;
  return attributes;
}

const FAILED: ReadonlySet<string> = new Set(['threw', 'unclear', 'lost', 'not-started']);

/** A link to the span that put the message in; none without a header that is well-formed. */
function linksOf(traceparent: string | null): SpanStart['links'] {
  const [, traceId, spanId, flags] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}
