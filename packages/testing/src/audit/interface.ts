/**
 * What an auditor is told of a history, and what it says about it.
 */

import type { SamekeyEvent } from 'samekey/internals/engine/events';
import type { Outcome } from 'samekey/internals/core/outcome';
import type { Fence, RecordId, State } from 'samekey/internals/core/record';
import type { StoredResponse } from 'samekey/internals/core/response';
import type { AuditedRequest, CallFacts, KeyFacts, ProcessFacts, RunFacts } from './facts.ts';
import type { Transition } from './transitions.ts';

/** Something that must not happen. */
export interface Violation {
  readonly at: number;
  readonly id: RecordId | null;
  /** `state`: seen in the store's records; `outside`: seen by callers and in the ledger of effects. */
  readonly seen: 'state' | 'outside';
  readonly what: string;
}

/** Options of an auditor. */
export interface AuditorOptions {
  /** Virtual time. */
  readonly now: () => number;
  /** Whether claims may end although their processes live (the store or its clock misbehaves, handlers hang). */
  readonly claimsMayEnd: boolean;
  /** How long a reply may be under way to a process: `quiet`, and with what a freeze adds. */
  readonly slackMs: { readonly quiet: number; readonly frozen: number };
  /** Whether the store's clock jumps; default false. */
  readonly clockJumps?: boolean;
  /** Whether the store's time may lag behind: then a key may be replayed longer than its record should live; default false. */
  readonly timeLags?: boolean;
}

/** Watches one history. */
export interface Auditor {
  readonly violations: readonly Violation[];
  process(name: string): ProcessFacts;
  /** A record changed, or nothing did (`before === after`). */
  changed(transition: Transition): void;
  /** The handler of a request starts, under a claim that was sent then. */
  runs(
    request: AuditedRequest,
    fence: Fence,
    claim: { sentAt: number; ttlMs: number; timeMaxMs: number },
  ): RunFacts;
  effect(run: RunFacts): void;
  /** The call of an effect is begun: the function that the application gave is called. */
  calls(run: RunFacts, call: Omit<CallFacts, 'life' | 'process' | 'attempt' | 'charge'>): CallFacts;
  /** Its request leaves for the provider. */
  sends(run: RunFacts, call: CallFacts): void;
  ends(run: RunFacts, to: State, response: StoredResponse | null): void;
  answered(request: AuditedRequest, run: RunFacts | null, outcome: Outcome): void;
  event(process: string, event: SamekeyEvent): void;
  /** The faults are over and abandoned claims have had time to be given back: judges what is unknown now. */
  judgeUnknown(): void;
  /** Nothing is under way any more: judges what is left. */
  conclude(): void;
  /** Reports what somebody else found. */
  report(id: RecordId | null, seen: Violation['seen'], what: string): void;
  facts(id: RecordId): KeyFacts;
}
