/** Metrics, traces and logs: listeners for `onEvent`, over libraries that are passed in. */

export { allOf } from './all.ts';
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
export { type LoggerLike, logEvents, type LogOptions, type Logs } from './logs.ts';
export type { ObserveOptions, StoreObserver } from './observe.ts';
export { type MeterLike, meterEvents } from './otel.ts';
export { type PromClientLike, promEvents } from './prometheus.ts';
export type { AnyEvent } from './service-events.ts';
export { type TracerLike, traceEvents, type TraceOptions, type Traces } from './traces.ts';
