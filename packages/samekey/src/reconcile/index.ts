export {
  compareLedgers,
  type CompareOptions,
  type LedgerDifference,
  type ShownLine,
} from './ledger/compare.ts';
export { type LedgerReport, ledgerReport } from './ledger/report.ts';
export { compareReferences, type LedgerLine, type LedgerSide, type Rows } from './ledger/side.ts';
export { LEDGER_DIFFERENCES, type LedgerSum, type LedgerTotals } from './ledger/totals.ts';
