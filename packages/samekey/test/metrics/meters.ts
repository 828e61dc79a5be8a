/** Both ways to measure, side by side, and what each exposes. */

import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import prom from 'prom-client';
import { allOf, type LabelName, type Metrics, meterEvents, promEvents } from '../../src/metrics/index.ts';
import type { LabelOptions } from '../../src/metrics/labels.ts';

/** A series as `name{label="value"}`, labels in alphabetical order, and its value. */
export type Exposed = ReadonlyMap<string, number>;

export interface Meters {
  /** Listeners that feed both. */
  readonly metrics: Pick<Metrics, 'samekey' | 'worker' | 'janitor' | 'reconciler'>;
  readonly otel: Metrics;
  readonly prom: Metrics;
  /** The texts that a scraper gets. */
  readonly texts: () => Promise<{ readonly otel: string; readonly prom: string }>;
  /** What both expose; throws when they differ in anything that is not a time. */
  readonly exposed: () => Promise<Exposed>;
}

export function startMeters(options?: LabelOptions): Meters {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const registry = new prom.Registry();
  const byOtel = meterEvents(provider.getMeter('samekey'), options);
  const byProm = promEvents(prom, registry, options);
  const texts = async () => ({
    otel: new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics),
    prom: await registry.metrics(),
  });
  return {
    metrics: {
      samekey: allOf(byOtel.samekey, byProm.samekey),
      worker: allOf(byOtel.worker, byProm.worker),
      janitor: allOf(byOtel.janitor, byProm.janitor),
      reconciler: allOf(byOtel.reconciler, byProm.reconciler),
    },
    otel: byOtel,
    prom: byProm,
    texts,
    async exposed() {
      const both = await texts();
      const [left, right] = [parse(both.otel), parse(both.prom)];
      for (const [series, value] of [...left, ...right]) {
        const same = left.get(series) === right.get(series);
        // Histograms of prom-client begin empty, those of OpenTelemetry with their first value.
        const empty = value === 0 && !(left.has(series) && right.has(series));
        if (!same && !empty && !isTime(series))
          throw new Error(
            `${series}: ${left.get(series)} by OpenTelemetry, ${right.get(series)} by prom-client`,
          );
      }
      return right;
    },
  };
}

/** The value of a series; labels in any order. 0 when it is not there. */
export function valueOf(
  exposed: Exposed,
  name: string,
  labels: Partial<Record<LabelName | 'le', string>> = {},
): number {
  return exposed.get(seriesOf(name, Object.entries(labels))) ?? 0;
}

/** The sum over all labels. */
export function sumOf(exposed: Exposed, name: string): number {
  let sum = 0;
  for (const [series, value] of exposed) if (series.replace(/\{.*$/, '') === name) sum += value;
  return sum;
}

function isTime(series: string): boolean {
  return /_seconds_sum|last_run|oldest_age/.test(series);
}

function seriesOf(name: string, labels: readonly (readonly [string, string])[]): string {
  const text = labels
    .filter(([label]) => !label.startsWith('otel_scope'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}="${value}"`);
  return `${name}{${text.join(',')}}`;
}

export function parse(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || name === 'target_info') continue;
    const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(
      ([, label = '', of = '']) => [label, of] as const,
    );
    found.set(seriesOf(name, pairs), value === '+Inf' ? Infinity : Number(value));
  }
  return found;
}
