/**
 * What the auditor knows: for each key its lives, for each life its attempts, for each attempt its runs and effects; and every
 * final answer that ever stood, with the time it stood.
 */

import type { RecordId, SamekeyRecord, State } from 'samekey/internals/core/record';
import type { StoredResponse } from 'samekey/internals/core/response';

/** A request, as whoever sends it knows it. */
export interface AuditedRequest {
  /** Unique within the history. */
  readonly n: number;
  readonly id: RecordId;
  /** Names what must be equal on a retry; equal bodies are equal requests. */
  readonly body: number;
  /** The process that serves it. */
  readonly process: string;
  readonly startedAt: number;
}

/** An attempt under one claim. */
export interface AttemptFacts {
  life: LifeFacts;
  readonly attempt: number;
  readonly claimId: string;
  /**
   * Granted to a repetition of a claim that the store had answered before: whoever sent it may have stopped listening, so
   * nothing need ever run under it.
   */
  repeated: boolean;
  readonly run: RunFacts[];
  effects: number;
  /** When a renewal was applied at last; 0 for never. */
  renewedAt: number;
  /**
   * How the record left it for a next attempt: `excused` (its claim ended on the resuming way, or somebody settled it),
   * `proven` (as without effect); null while it is the last.
   */
  left: 'excused' | 'proven' | null;
  /** Its owner called its outcome unknown: then only a person lets the key run again. */
  calledUnknown: boolean;
  /** States written by its owner. */
  readonly wrote: Set<State>;
  /** States that a contradiction was told about. */
  readonly contradicted: Set<State>;
  /** A person has decided about it. */
  settled: boolean;
  saveDelayed: boolean;
  saveAbandoned: boolean;
}

/** One call of an effect. */
export interface CallFacts {
  readonly life: LifeFacts;
  readonly effect: string;
  readonly rule: 'downstreamKey' | 'inquire' | 'reconcile';
  readonly process: string;
  readonly attempt: number;
  readonly callTimeMaxMs: number;
  /** Whether its client asks the signal before it sends. */
  readonly asksSignal: boolean;
  /** What the provider made of it; null: nothing yet. */
  charge: number | null;
}

/** One run of a handler. */
export interface RunFacts {
  readonly n: number;
  readonly request: AuditedRequest;
  readonly attempt: AttemptFacts | null;
  /** Until when its claim certainly lived by its own process's knowledge, and its time was not up. */
  readonly heldUntil: number;
  /** What its end must make of the record; null while it runs. */
  ended: { readonly to: State; readonly response: StoredResponse | null } | null;
}

/** A key from its first use to its end. */
export interface LifeFacts {
  readonly n: number;
  readonly attempts: AttemptFacts[];
}

/** A final answer while it stood. */
export interface FinalFacts {
  readonly life: LifeFacts;
  readonly record: SamekeyRecord;
  readonly from: number;
  to: number;
  /** When the next attempt under the key was granted. */
  nextAt: number;
}

/** What the key was bound to, and when. */
export interface BindingFacts {
  readonly digest: string | null;
  readonly from: number;
  to: number;
}

/** Everything about one `(scope, key)`. */
export interface KeyFacts {
  readonly id: RecordId;
  current: SamekeyRecord | null;
  life: LifeFacts;
  readonly attempts: Map<string, AttemptFacts>;
  readonly finals: FinalFacts[];
  readonly bindings: BindingFacts[];
  readonly calls: CallFacts[];
  /** Effects of which it was told that their calls contradict the record, with the process that told it. */
  readonly told: { readonly effect: string; readonly process: string; readonly attempt: number }[];
}

/** A process, as far as it explains what happens to its claims. */
export interface ProcessFacts {
  readonly name: string;
  /** It froze, was stopped short or killed: its claims may end without it. */
  disturbed: boolean;
  frozen: boolean;
  /** It no longer exists, and did not end in order. */
  gone: boolean;
}

/** Makes the facts of a key nobody has used. */
export function emptyKey(id: RecordId): KeyFacts {
  return {
    id,
    current: null,
    life: { n: 0, attempts: [] },
    attempts: new Map(),
    finals: [],
    bindings: [],
    calls: [],
    told: [],
  };
}

/** Makes the facts of an attempt that has just been granted. */
export function emptyAttempt(life: LifeFacts, { attempt, claimId }: SamekeyRecord): AttemptFacts {
  return {
    life,
    attempt,
    claimId,
    repeated: false,
    run: [],
    effects: 0,
    renewedAt: 0,
    left: null,
    calledUnknown: false,
    wrote: new Set(),
    contradicted: new Set(),
    settled: false,
    saveDelayed: false,
    saveAbandoned: false,
  };
}

/** The attempt goes on in another life of its key, in which nothing has happened yet. */
export function inNewLife(attempt: AttemptFacts, life: LifeFacts): AttemptFacts {
  return Object.assign(attempt, { life, effects: 0, left: null, calledUnknown: false, settled: false });
}

/** Names an attempt: numbers begin again in every life, and a claimId alone does not say which attempt it was good for. */
export function fenceText(fence: { readonly claimId: string; readonly attempt: number }): string {
  return `${fence.claimId}#${fence.attempt}`;
}

/** Claims are named after the process that asked for them: `p1.7`. */
export function ownerOf({ claimId }: { readonly claimId: string }): string {
  return claimId.slice(0, claimId.lastIndexOf('.'));
}
