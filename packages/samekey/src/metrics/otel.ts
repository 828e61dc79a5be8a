/**
 * Metrics by OpenTelemetry: the application passes in a meter of `@opentelemetry/api` (1.9 or newer, for its gauges),
 * and its SDK decides where they go.
 *
 * Sources: https://opentelemetry.io/docs/specs/otel/metrics/api/ · https://ucum.org/ucum (units)
 */

import { OptionsError } from '../core/errors.ts';
import { BUCKETS_S, type Metric, PREFIX } from './catalog.ts';
import type { LabelOptions } from './labels.ts';
import { createMetrics, type Metrics } from './listeners.ts';
import { createRecorder, type Instrument, type PlainLabels } from './recorder.ts';

/** What an instrument is made with. */
interface MeterOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

/** The part of OpenTelemetry's `Meter` that is used. */
export interface MeterLike {
  createCounter(name: string, options: MeterOptions): { add(value: number, labels: PlainLabels): void };
  createHistogram(name: string, options: MeterOptions): { record(value: number, labels: PlainLabels): void };
  createGauge(name: string, options: MeterOptions): { record(value: number, labels: PlainLabels): void };
}

/** Makes listeners that measure with the meter. Throws `OptionsError`. */
export function meterEvents(meter: MeterLike, options?: LabelOptions): Metrics {
  if (typeof meter?.createCounter !== 'function' || typeof meter.createGauge !== 'function') {
    throw new OptionsError(
      'meterEvents takes a meter of @opentelemetry/api 1.9 or newer: metrics.getMeter("samekey").',
    );
  }
  const recorder = createRecorder((name, metric) => instrumentOf(meter, `${PREFIX}${name}`, metric));
  return createMetrics('meterEvents', recorder, options);
}

function instrumentOf(meter: MeterLike, name: string, { kind, unit, meaning }: Metric): Instrument {
  const described = { description: meaning, unit };
  switch (kind) {
    case 'counter': {
      const counter = meter.createCounter(name, described);
      return (labels, value) => counter.add(value, labels);
    }
    case 'histogram': {
      const advice = { explicitBucketBoundaries: [...BUCKETS_S] };
      const histogram = meter.createHistogram(name, { ...described, advice });
      return (labels, value) => histogram.record(value, labels);
    }
    case 'gauge': {
      const gauge = meter.createGauge(name, described);
      return (labels, value) => gauge.record(value, labels);
    }
    default:
      return kind satisfies never;
  }
}
