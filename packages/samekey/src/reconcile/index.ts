export { compareLedgers, type CompareOptions } from './ledger/compare.ts';
export type { LedgerDifference, ShownLine } from './ledger/difference.ts';
export { type LedgerReport, ledgerReport } from './ledger/report.ts';
export { compareReferences, type LedgerLine, type LedgerSide, type Rows } from './ledger/side.ts';
export type { LedgerSum, LedgerTotals } from './ledger/totals.ts';
export { LEDGER_DIFFERENCES } from './ledger/difference.ts';
export type { OpenEffect } from './effect-of.ts';
export type { ReconciledBy, ReconcileEvent, ReconcileEventType } from './reconcile-events.ts';
export type { ToldAbout } from './find.ts';
export type {
  Inquiry,
  ReconcileOperation,
  ReconcileProbePoint,
  ReconcilerOptions,
} from './options.ts';
export { createReconciler, type Reconciler, type ReconcileReport } from './reconciler.ts';
export type { Told, ToldResult } from './tell.ts';
export type { Verdict, VerdictAnswer } from './verdict.ts';
