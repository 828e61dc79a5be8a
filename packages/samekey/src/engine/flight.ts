/**
 * Requests with one key that meet within one process meet in memory first: the store sees one claim for all of them.
 *
 * Invariants: one flight per record at a time · a flight is entered before its claim is sent and left when the engine
 * no longer speaks for the record · what is shared is an outcome that was read for an equal fingerprint.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Fingerprint, RecordId } from '../core/record.ts';
import type { Outcome } from '../core/outcome.ts';
import type { StoredResponse } from '../core/response.ts';
import type { Running } from './usual.ts';

/** What a flight is doing. */
export type FlightNews =
  /** The claim was granted: the handler runs. */
  | { readonly kind: 'running' }
  /** The flight is over with this outcome for its own request; null: ask the store. */
  | { readonly kind: 'over'; readonly met: Met | null };

/** What a request met, and how long the claim it met may still last (0: not in progress elsewhere). */
export interface Met {
  readonly outcome: Outcome;
  readonly claimLeftMs: number;
  /** What is known of the attempt that was met, if one was. */
  readonly running?: Running;
  /** Where it was met, if an attempt was. */
  readonly foundAt?: RecordId;
  /** Whether the request was noted as new, for a worker. */
  readonly isNew?: boolean;
  /** Whether the attempt that was met has no record yet: its transaction has reserved the key. */
  readonly isUnseen?: boolean;
  /** Whether the record that was met keeps no input, so that no worker goes on with it. */
  readonly isNobodys?: boolean;
}

/** The record this process is working on. */
export interface Flight {
  /** The record's id as one text. */
  readonly text: string;
  readonly fingerprint: Fingerprint;
  phase: 'claiming' | 'running' | 'over';
  /** The answer that left although its record is not written yet: duplicates in this process get it too. */
  unsaved: { readonly response: StoredResponse; readonly attempt: number } | null;
  /** The attempt that runs; null while it is being asked for. */
  attempt: RunningAttempt | null;
  listeners: ((news: FlightNews) => void)[] | null;
}

/** The flights of one engine. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  /** `text` is the id as `idText` writes it: made once for all that is asked here. */
  get(text: string): Flight | undefined {
    return this.#flights.get(text);
  }

  open(text: string, fingerprint: Fingerprint): Flight {
    const flight: Flight = {
      text,
      fingerprint,
      phase: 'claiming',
      unsaved: null,
      attempt: null,
      listeners: null,
    };
    this.#flights.set(text, flight);
    return flight;
  }

  /** The claim was granted. */
  running(flight: Flight, attempt: RunningAttempt): void {
    flight.phase = 'running';
    flight.attempt = attempt;
    tell(flight, { kind: 'running' });
  }

  /** The engine no longer speaks for this record; later requests ask the store. */
  close(flight: Flight, met: Met | null): void {
    if (flight.phase === 'over') return;
    flight.phase = 'over';
    if (this.#flights.get(flight.text) === flight) this.#flights.delete(flight.text);
    tell(flight, { kind: 'over', met });
  }

  /** The next news of a flight. */
  next(flight: Flight): Promise<FlightNews> {
    return new Promise((resolve) => {
      flight.listeners ??= [];
      flight.listeners.push(resolve);
    });
  }
}

function tell(flight: Flight, news: FlightNews): void {
  const { listeners } = flight;
  flight.listeners = null;
  if (listeners !== null) for (const listener of listeners) listener(news);
}
