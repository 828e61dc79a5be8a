/** Metrics, traces and logs: listeners for `onEvent`, over libraries that are passed in. */

export { allOf } from './all-of.ts';
export {
  ALL_METRICS,
  LABELS,
  type LabelName,
  type Metric,
  type MetricName,
  PREFIX,
  prometheusName,
} from './catalog.ts';
export type { LabelOptions } from './labels.ts';
export type { Metrics } from './listeners.ts';
export { LOG_LEVELS, LOG_LINES, type LogLevel } from './log-lines.ts';
export { type LoggerLike, type LogOptions, type Logs, logEvents } from './logs.ts';
export type { ObserveOptions, StoreObserver } from './observe.ts';
export { type MeterLike, meterEvents } from './otel.ts';
export { type PromClientLike, promEvents } from './prometheus.ts';
export { type TraceOptions, type TracerLike, type Traces, traceEvents } from './traces.ts';
