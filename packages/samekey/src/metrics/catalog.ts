/**
 * Every metric, once: name, kind, unit, labels, meaning. OpenTelemetry gets the names as they are, Prometheus gets them
 * translated (`api_idempotency_…`, counters with `_total`); `tools/check-ops.mjs` holds alerts, dashboard and the
 * reference page to this list.
 *
 * Invariants: a label is either a closed list or bounded by the listeners (`labels.ts`), so that no client can make new
 * series · a key is never a label, and a caller only as a hash.
 */

import { OUTCOME_KINDS } from '../core/outcome.ts';
import { STATES } from '../core/record.ts';

/** What every name begins with. */
export const PREFIX = 'api.idempotency.';

/** The labels. `values`: all there are; null: named by the application or its callers, and bounded. */
export const LABELS: Readonly<Record<LabelName, { readonly values: readonly string[] | null }>> = {
  by: { values: ['inquiry', 'webhook', 'hand'] },
  code: { values: null },
  end: { values: ['delivered', 'failed', 'dead', 'lease_lost', 'time_up'] },
  from: { values: STATES },
  memory: { values: ['true', 'false'] },
  operation: { values: null },
  outcome: { values: OUTCOME_KINDS },
  result: { values: ['created', 'retry', 'duplicate', 'misuse'] },
  scope: { values: null },
  source: { values: ['engine', 'worker', 'janitor', 'reconciler', 'observer'] },
  state: { values: STATES },
  to: { values: STATES },
  topic: { values: null },
  verb: { values: null },
};

/** The name of a label. */
export type LabelName =
  | 'by'
  | 'code'
  | 'end'
  | 'from'
  | 'memory'
  | 'operation'
  | 'outcome'
  | 'result'
  | 'scope'
  | 'source'
  | 'state'
  | 'to'
  | 'topic'
  | 'verb';

/** What a metric is. */
export interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** As UCUM has it; what is counted stands in braces. */
  readonly unit: string;
  readonly labels: readonly LabelName[];
  readonly meaning: string;
}

/** The metrics, by name without the prefix. Their words are no part of their types, which everybody downloads. */
const METRICS = {
  'reserve.created.count': {
    kind: 'counter',
    unit: '{key}',
    labels: ['operation'],
    meaning: 'New keys: a record was made, and the operation runs or was accepted.' as string,
  },
  'reserve.replay.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['operation', 'memory'],
    meaning:
      "Retries that got the stored answer; `memory`: from this process's memory, without the store." as string,
  },
  'reserve.in_progress.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['operation'],
    meaning: 'Retries that met a running attempt, or one that waits for its worker.' as string,
  },
  'reserve.key_misuse.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['operation'],
    meaning: 'Requests that came with the key of a different request: refused.' as string,
  },
  'reserve.failed_retry.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: ['operation'],
    meaning: 'Requests that run a known key again, because an earlier attempt may be repeated.' as string,
  },
  'reserve.unknown.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['operation'],
    meaning: 'Retries that met an outcome which nobody knows.' as string,
  },
  'request.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['operation', 'outcome'],
    meaning: 'Requests of protected routes by outcome, refused ones included.' as string,
  },
  'scope.request.count': {
    kind: 'counter',
    unit: '{request}',
    labels: ['scope', 'result'],
    meaning: 'Requests with a key per caller (hashed, busy callers only, the rest is `other`).' as string,
  },
  'pushed.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: ['operation', 'outcome'],
    meaning: 'Unfinished operations that a worker pushed on.' as string,
  },
  'finished.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: ['operation', 'to'],
    meaning: 'Attempts whose end was recorded, by the state of their record.' as string,
  },
  'handler.error.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: ['operation'],
    meaning:
      'Handlers that threw. In Express, Hono and node:http the application’s own error handling answers, and its answer counts.' as string,
  },
  'attempt.time_up.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: ['operation'],
    meaning: 'Handlers that ran longer than `attemptTimeMaxMs`.' as string,
  },
  'fence_lost.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: [],
    meaning: 'Attempts that lost their claim to another.' as string,
  },
  'contradiction.count': {
    kind: 'counter',
    unit: '{record}',
    labels: ['source'],
    meaning: 'An end that does not fit its record: nothing was changed, somebody must look.' as string,
  },
  'commit.unclear.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: [],
    meaning: 'Transactions of which nobody could say in time whether they were committed.' as string,
  },
  'transaction.not_started.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: [],
    meaning: 'Handlers that did not run because no transaction could be begun.' as string,
  },
  'save.delayed.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: [],
    meaning: 'Answers that left before they were stored.' as string,
  },
  'save.abandoned.count': {
    kind: 'counter',
    unit: '{attempt}',
    labels: [],
    meaning: 'Answers that could not be stored and were given up.' as string,
  },
  'claim.abandoned.count': {
    kind: 'counter',
    unit: '{claim}',
    labels: [],
    meaning: 'Claims whose reply from the store never came.' as string,
  },
  'renewal.failed.count': {
    kind: 'counter',
    unit: '{claim}',
    labels: [],
    meaning: 'Renewals of claims that failed; two may, before the claim ends.' as string,
  },
  'limiter.failed.count': {
    kind: 'counter',
    unit: '{request}',
    labels: [],
    meaning: 'Requests for which the limiter failed or did not answer in time.' as string,
  },
  'record.unreadable.count': {
    kind: 'counter',
    unit: '{request}',
    labels: [],
    meaning:
      'Requests answered 503 because what is stored under their key cannot be opened: a seal whose key is missing.' as string,
  },
  'misuse.count': {
    kind: 'counter',
    unit: '{warning}',
    labels: ['code'],
    meaning: 'Samekey is used in a way that will hurt; once per code and process.' as string,
  },
  'store.error.count': {
    kind: 'counter',
    unit: '{call}',
    labels: ['source', 'verb'],
    meaning: 'Calls of the store that failed, or whose reply was lost.' as string,
  },
  'store.busy.count': {
    kind: 'counter',
    unit: '{row}',
    labels: ['verb'],
    meaning: 'Lock contention: rows that were locked by somebody and went again.' as string,
  },
  'zombie_key.count': {
    kind: 'counter',
    unit: '{record}',
    labels: ['to'],
    meaning: 'Keys whose owner was gone: the claim was over, and the sweeper ended it.' as string,
  },
  'swept.count': {
    kind: 'counter',
    unit: '{record}',
    labels: ['from', 'to'],
    meaning: 'Records that the sweeper moved on, for whatever reason.' as string,
  },
  'ttl_pruned.count': {
    kind: 'counter',
    unit: '{record}',
    labels: [],
    meaning: 'Records past their retention that the reaper deleted.' as string,
  },
  'audit.pruned.count': {
    kind: 'counter',
    unit: '{row}',
    labels: [],
    meaning: 'Rows of the audit past their retention that were deleted.' as string,
  },
  'reconcile.scheduled.count': {
    kind: 'counter',
    unit: '{inquiry}',
    labels: [],
    meaning: 'Questions without a final answer: asked again later.' as string,
  },
  'reconcile.resolved.count': {
    kind: 'counter',
    unit: '{record}',
    labels: ['to', 'by'],
    meaning: 'Unknown outcomes that are known now.' as string,
  },
  'reconcile.failed.count': {
    kind: 'counter',
    unit: '{inquiry}',
    labels: ['operation'],
    meaning: 'Questions that failed, took too long, or were answered by what is no verdict.' as string,
  },
  'reconcile.given_up.count': {
    kind: 'counter',
    unit: '{record}',
    labels: [],
    meaning: 'Unknown outcomes that are left to an operator: asked as often as allowed.' as string,
  },
  'delivery.count': {
    kind: 'counter',
    unit: '{delivery}',
    labels: ['topic', 'end'],
    meaning: 'Deliveries of messages by how they ended; `dead` is a new dead letter.' as string,
  },
  'reserve.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['operation'],
    meaning: 'From asking for a claim to having it, for attempts that run.' as string,
  },
  'request.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['operation', 'outcome'],
    meaning: 'From meeting a request to knowing its outcome.' as string,
  },
  'handler.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['operation'],
    meaning: 'How long handlers ran.' as string,
  },
  'finish.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['operation'],
    meaning:
      "Writing the end of an attempt; 0 when the operation's own transaction had written it." as string,
  },
  'claim.age.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['operation'],
    meaning: 'How long attempts had held their claim at their end: compare with `claimTtlMs`.' as string,
  },
  'store.call.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['verb'],
    meaning: 'Calls of the store by the engine; each carries many rows.' as string,
  },
  'delivery.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['topic'],
    meaning: 'Deliveries, from taking the message to knowing its end.' as string,
  },
  'janitor.duration.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: ['verb'],
    meaning: 'Runs of the janitor.' as string,
  },
  'reconcile.age.seconds': {
    kind: 'histogram',
    unit: 's',
    labels: [],
    meaning: 'How long an outcome had been unknown when it was settled.' as string,
  },
  'janitor.last_run': {
    kind: 'gauge',
    unit: 's',
    labels: ['verb'],
    meaning: 'When the janitor of this process last did this, in seconds since 1970.' as string,
  },
  records: {
    kind: 'gauge',
    unit: '{record}',
    labels: ['state'],
    meaning: 'Records in the store.' as string,
  },
  'unknown.oldest_age.seconds': {
    kind: 'gauge',
    unit: 's',
    labels: [],
    meaning:
      'Age of the oldest record whose outcome is unknown, from its first use; 0 without one.' as string,
  },
  'queue.depth': {
    kind: 'gauge',
    unit: '{message}',
    labels: ['topic'],
    meaning: 'Messages that are not delivered yet.' as string,
  },
  dead_letters: {
    kind: 'gauge',
    unit: '{message}',
    labels: ['topic'],
    meaning: 'Messages that were given up.' as string,
  },
  'observed.last_run': {
    kind: 'gauge',
    unit: 's',
    labels: [],
    meaning: 'When the store was last looked at for these gauges, in seconds since 1970.' as string,
  },
} as const;

type Catalog = typeof METRICS;

/** The name of a metric, without the prefix. */
export type MetricName = keyof Catalog;

/** The names of one kind. */
export type NameOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: Catalog[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** The labels of a metric, all of them. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<Catalog[Name]['labels'][number], string>>;

/** All metrics, for whoever goes through them. */
export const ALL_METRICS: readonly (readonly [MetricName, Metric])[] = Object.entries(METRICS) as (readonly [
  MetricName,
  Metric,
])[];

/** As Prometheus has it: what OpenTelemetry's exporter for Prometheus makes of the name too. */
export function prometheusName(name: MetricName): string {
  const translated = `${PREFIX}${name}`.replaceAll('.', '_');
  return METRICS[name].kind === 'counter' ? `${translated}_total` : translated;
}

/** Upper bounds of the buckets of every histogram, in seconds. */
export const BUCKETS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400,
];
