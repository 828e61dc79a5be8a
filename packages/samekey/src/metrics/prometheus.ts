/**
 * Metrics by `prom-client`, which the application passes in with the registry that it exposes. Names are those of
 * OpenTelemetry, translated as its exporter for Prometheus translates them, so that alerts and dashboards fit either
 * way.
 *
 * Source: https://prometheus.io/docs/practices/naming/
 */

import { OptionsError } from '../core/errors.ts';
import { BUCKETS_S, type Metric, type MetricName, prometheusName } from './catalog.ts';
import type { LabelOptions } from './labels.ts';
import { createMetrics, type Metrics } from './listeners.ts';
import { createRecorder, type Instrument, type PlainLabels } from './recorder.ts';

/** What an instrument is made with. */
interface PromOptions<Registry> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registers: Registry[];
}

/** The part of `prom-client` that is used. */
export interface PromClientLike<Registry> {
  readonly Counter: new (options: PromOptions<Registry>) => { inc(labels: PlainLabels, value: number): void };
  readonly Gauge: new (options: PromOptions<Registry>) => { set(labels: PlainLabels, value: number): void };
  readonly Histogram: new (
    options: PromOptions<Registry> & { readonly buckets: number[] },
  ) => { observe(labels: PlainLabels, value: number): void };
}

/** Makes listeners that measure into the registry. A registry takes one set only. Throws `OptionsError`. */
export function promEvents<Registry>(
  client: PromClientLike<Registry>,
  registry: Registry,
  options?: LabelOptions,
): Metrics {
  if (typeof client?.Counter !== 'function' || typeof registry !== 'object' || registry === null) {
    throw new OptionsError(
      'promEvents takes prom-client and a registry: promEvents(client, client.register).',
    );
  }
  const recorder = createRecorder((name, metric) => instrumentOf(client, registry, name, metric));
  return createMetrics('promEvents', recorder, options);
}

function instrumentOf<Registry>(
  client: PromClientLike<Registry>,
  registry: Registry,
  name: MetricName,
  { kind, labels: labelNames, meaning: help }: Metric,
): Instrument {
  const described = { name: prometheusName(name), help, labelNames, registers: [registry] };
  switch (kind) {
    case 'counter': {
      const counter = new client.Counter(described);
      return (labels, value) => counter.inc(labels, value);
    }
    case 'gauge': {
      const gauge = new client.Gauge(described);
      return (labels, value) => gauge.set(labels, value);
    }
    case 'histogram': {
      const histogram = new client.Histogram({ ...described, buckets: [...BUCKETS_S] });
      return (labels, value) => histogram.observe(labels, value);
    }
    default:
      return kind satisfies never;
  }
}
