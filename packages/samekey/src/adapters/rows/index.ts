/**
 * Samekey for the rows of a batch request: each row has a key, a record and a run of its own. For any framework.
 */

export type { ScopeFunction } from '../../http/scope-function.ts';
export type { Refusal } from '../../http-call/call-exchange.ts';
export {
  type RowAnswer,
  type RowCall,
  type RowsAnswer,
  type RowsOptions,
  serveRows,
} from './serve-rows.ts';
