/** What the processes of reconciliation and whoever started them say to each other; messages go over IPC. */

/** How an operation pays: in which way, and whether its calls carry a key that the provider knows. */
export const PAY_KINDS = {
  'plain-keyed': { phased: false, keyed: true },
  'plain-bare': { phased: false, keyed: false },
  'phased-keyed': { phased: true, keyed: true },
  'phased-bare': { phased: true, keyed: false },
} as const;
export type PayKind = keyof typeof PAY_KINDS;

/** What becomes of a payer right at its call: it goes on, is killed before or after it, or stands still before it until it is woken (F61). */
export type Fate = 'none' | 'die-before' | 'die-after' | 'freeze-before';

/** Options of a process, as JSON in its first argument. */
export interface ReconcileProcessOptions {
  readonly role: 'payer' | 'reconciler';
  readonly name: string;
  readonly databaseUrl: string;
  readonly providerPort: number;
  readonly controlPort: number;
  /** A reconciler appends a line to it for every question. */
  readonly log: string;
}

/** To a payer. */
export interface PayMessage {
  readonly type: 'pay';
  readonly id: number;
  readonly key: string;
  readonly kind: PayKind;
  readonly fate: Fate;
}

/** From a process. `frozen`: it stands still from now on. */
export type FromReconcileProcess =
  | { readonly type: 'ready' }
  | { readonly type: 'frozen'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly kind: string; readonly value: unknown };

/** A question, as it stands in the log. */
export interface LoggedInquiry {
  readonly by: string;
  readonly key: string;
  readonly unknown: string;
  readonly inquiry: number;
}

/** Short, and long against each other: a call is under way for less than `callTimeMaxMs`. */
export const TIMES = {
  claimTtlMs: 1_000,
  callTimeoutMs: 700,
  callTimeMaxMs: 4_000,
  leaseMs: 2_500,
  inquiryTimeMaxMs: 1_000,
  inquiriesMax: 12,
} as const;
