/** What the doctor looks at, and what it finds. Looking changes nothing. */

import type { SamekeyRecord } from 'samekey';
import type { OpenRecords } from './open-records.ts';
import type { Outline } from './outline.ts';

/**
 * `failure`: keys are not safe, or nothing works. `warning`: it will hurt. `note`: worth knowing. `ok`: looked at, and
 * fine.
 */
export type Level = 'failure' | 'warning' | 'note' | 'ok';

/** One finding. */
export interface Finding {
  /** The check, as its row in docs/reference/cli.md. */
  readonly check: string;
  readonly level: Level;
  /** What is so, in a sentence. */
  readonly what: string;
  /** What was measured, for programs; no key, no caller, no body. */
  readonly measured: Readonly<Record<string, string | number | boolean | null>>;
  /** What mends it; null where nothing needs mending. */
  readonly remedy: string | null;
}

/** What of a record the checks look at; its answer is not kept in memory. */
export interface Sample
  extends Pick<
    SamekeyRecord,
    | 'scope'
    | 'key'
    | 'operation'
    | 'state'
    | 'attempt'
    | 'claimTtlMs'
    | 'createdAt'
    | 'finishedAt'
    | 'expiresAt'
    | 'formatVersion'
    | 'sealKeyId'
  > {
  /** An answer or an input that a seal would seal. */
  readonly hasContent: boolean;
  /** Neither erased nor forgotten: those expire when a hand said, not when the operation's retention does. */
  readonly isLiving: boolean;
  /** Its work may have waited for a worker. */
  readonly mayHaveWaited: boolean;
}

/** Everything that checks look at. */
export interface Patient extends Outline {
  /** By the database's clock where it has one. */
  readonly now: number;
  /** How far the database's clock is before this machine's, in milliseconds; null where there is only one. */
  readonly skewMs: number | null;
  /** All records that are not final. */
  readonly open: OpenRecords;
  /** The newest records. */
  readonly recent: readonly Sample[];
}

/** A check: what it found, nothing where there is nothing to look at. */
export type Check = (patient: Patient) => Promise<readonly Finding[]> | readonly Finding[];

/** Looked at, and fine. */
export function fine(check: string, what: string, measured: Finding['measured']): Finding {
  return { check, level: 'ok', what, measured, remedy: null };
}
