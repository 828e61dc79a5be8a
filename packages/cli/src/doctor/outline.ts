/** What the doctor has before it has looked into a table: an open store, and what it was told. */

import type { OpenDatabase } from '../database/opened.ts';
import type { StoreWithSchema } from '../operate/target.ts';
import type { Operator } from 'samekey/operator';

/**
 * How long clients retry, how long recovering may take, how long answers must be there for questions; in milliseconds.
 */
export interface Windows {
  readonly retryMs: number | null;
  readonly recoveryMs: number | null;
  readonly auditMs: number | null;
  /** How long a transaction of anybody may be open; null: 10 minutes. */
  readonly transactionMs: number | null;
}

/** What is known before the tables are. */
export interface Outline {
  readonly operator: Operator;
  readonly store: StoreWithSchema;
  /** Null with `--app`: then checks of the database itself are left out, which is said. */
  readonly database: OpenDatabase | null;
  readonly windows: Windows;
  /** The newest record format that this version reads. */
  readonly known: number;
}
