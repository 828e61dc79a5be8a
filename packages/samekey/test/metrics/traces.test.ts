/** Spans of real requests by OpenTelemetry's SDK: their parents, their times, and what is in them. */

import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Delivery } from '../../src/worker/index.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { traceEvents } from '../../src/metrics/index.ts';
import { openShop, SECRET_CALLER, SECRET_KEY } from './shop.ts';

beforeEach(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterEach(() => context.disable());

async function openTraced() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('samekey');
  const traces = traceEvents(tracer);
  const dead: (() => void)[] = [];
  const shop = await openShop(
    traces.samekey,
    (event) => {
      traces.worker(event);
      if (event.type === 'delivered' || event.type === 'dead-letter')
        for (const tell of dead.splice(0)) tell();
    },
    {
      // What a tracing HTTP server does: one span for the request, active while it is handled.
      around(then) {
        const span = tracer.startSpan('POST', { kind: SpanKind.SERVER });
        context.with(trace.setSpan(context.active(), span), then);
        span.end();
      },
    },
  );
  const spans = (name: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);
  return { shop, spans, exporter, delivered: () => new Promise<void>((resolve) => dead.push(resolve)) };
}

describe('spans', () => {
  it('reserve, handler and finish are children of the request’s span, one after the other', async () => {
    const { shop, spans } = await openTraced();
    await Promise.all([1, 2, 3].map((n) => shop.send('/pay', `${SECRET_KEY}-${n}`, { n })));
    const requests = spans('POST');
    expect(requests).toHaveLength(3);
    for (const request of requests) {
      const { spanId, traceId } = request.spanContext();
      const children = ['samekey.reserve', 'samekey.handler', 'samekey.finish'].map((name) =>
        spans(name).find((span) => span.parentSpanContext?.spanId === spanId),
      );
      let before = 0;
      for (const child of children) {
        expect(child?.spanContext().traceId).toBe(traceId);
        const startedAt = msOf(child?.startTime);
        // Times are whole milliseconds on one side, fractions on the other.
        expect(startedAt).toBeGreaterThanOrEqual(before - 2);
        expect(msOf(child?.endTime)).toBeGreaterThanOrEqual(startedAt);
        before = msOf(child?.endTime);
      }
      expect(children[0]?.attributes).toMatchObject({
        'samekey.operation': 'POST /pay',
        'samekey.attempt': 1,
        'samekey.resumed': false,
      });
      expect(children[2]?.attributes).toMatchObject({ 'samekey.to': 'completed' });
    }
  });

  it('a retry that runs nothing has one span, with its outcome', async () => {
    const { shop, spans, exporter } = await openTraced();
    await shop.send('/pay', 'one', {});
    exporter.reset();
    await shop.send('/pay', 'one', {});
    expect(spans('samekey.handler')).toEqual([]);
    expect(spans('samekey.reserve').map(({ attributes }) => attributes['samekey.outcome'])).toEqual([
      'replay',
    ]);
  });

  it('a delivery is linked to the trace that its message names, and failed ones are errors', async () => {
    const { shop, spans, delivered } = await openTraced();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await shop.outbox.enqueueAlone({ topic: 'mail', payload: {}, headers: { traceparent } });
    let ended = delivered();
    shop.worker({ handlers: { mail: () => undefined, doomed } }).start();
    await ended;
    ended = delivered();
    await shop.outbox.enqueueAlone({ topic: 'doomed', payload: {}, headers: { traceparent: 'not one' } });
    await ended;
    const [mail, dead] = spans('samekey.deliver');
    expect(mail?.kind).toBe(SpanKind.CONSUMER);
    expect(mail?.links[0]?.context).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
    });
    expect(mail?.status.code).toBe(SpanStatusCode.UNSET);
    expect(dead?.links).toEqual([]);
    expect(dead?.status.code).toBe(SpanStatusCode.ERROR);
    expect(dead?.attributes).toMatchObject({ 'samekey.topic': 'doomed', 'samekey.dead': true });
  });

  it('no key and no caller is in a span', async () => {
    const { shop, exporter } = await openTraced();
    for (const ends of ['well', 'well', 'throws', 'unknown']) await shop.send('/pay', SECRET_KEY, { ends });
    const all = JSON.stringify(
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, links }) => ({ name, attributes, events, links })),
    );
    expect(all).toContain('samekey.key_hash');
    expect(all).not.toContain(SECRET_KEY);
    expect(all).not.toContain(SECRET_CALLER);
  });
});

const doomed = (_message: unknown, delivery: Delivery): never => {
  delivery.giveUp();
  throw new Error('never');
};

function msOf([seconds, nanos]: readonly [number, number] = [0, 0]): number {
  return seconds * 1_000 + nanos / 1e6;
}
