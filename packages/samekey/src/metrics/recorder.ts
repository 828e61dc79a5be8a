/**
 * Where the listeners put what they learn: one seam for OpenTelemetry and Prometheus. The types allow a metric with its
 * own labels only.
 */

import { ALL_METRICS, LABELS, type LabelsOf, type Metric, type MetricName, type NameOf } from './catalog.ts';

/** Takes values. */
export interface Recorder {
  add<Name extends NameOf<'counter'>>(name: Name, labels: LabelsOf<Name>, value?: number): void;
  observe<Name extends NameOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, seconds: number): void;
  set<Name extends NameOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
}

/** Labels by name, as both libraries take them. */
export type PlainLabels = Record<string, string>;

/** One instrument of a library. */
export type Instrument = (labels: PlainLabels, value: number) => void;

/**
 * Makes all instruments at once. A counter whose labels are closed lists begins at zero for each of their values: an
 * alert on the increase of a counter does not see the first one of a series that was not there before.
 */
export function createRecorder(make: (name: MetricName, metric: Metric) => Instrument): Recorder {
  const instruments = new Map<MetricName, Instrument>();
  for (const [name, metric] of ALL_METRICS) {
    const instrument = make(name, metric);
    instruments.set(name, instrument);
    if (metric.kind === 'counter') for (const labels of closed(metric)) instrument(labels, 0);
  }
  const put = (name: MetricName, labels: PlainLabels, value: number): void =>
    instruments.get(name)?.(labels, value);
  return {
    add: (name, labels, value = 1) => put(name, labels, value),
    observe: (name, labels, seconds) => put(name, labels, seconds),
    set: (name, labels, value) => put(name, labels, value),
  };
}

/** All combinations of a metric's labels; none if one of them is open. */
function closed({ labels }: Metric): PlainLabels[] {
  let all: PlainLabels[] = [{}];
  for (const name of labels) {
    const values = LABELS[name].values ?? [];
    all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
  }
  return all;
}
