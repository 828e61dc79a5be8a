/** One delivery: what a handler sees of it, and what the worker keeps beside it. */

import { FenceLostError } from '../core/errors.ts';
import type { Lease, LeaseResult, NoteRequest, TakenMessage } from '../store/message.ts';
import { checkProviderId } from '../ways/provider-notes.ts';
import { MESSAGE_UNKNOWN, unknownReason } from '../engine/said-unknown.ts';
import { isSuspect, mayHaveRunBefore } from '../store/machine/messages.ts';

/** A message as its handler gets it. */
export interface ReceivedMessage<Payload = unknown> {
  readonly id: string;
  readonly topic: string;
  readonly group: string | null;
  readonly payload: Payload;
  readonly headers: Readonly<Record<string, string>>;
  /** By the store's clock, in milliseconds since 1970. */
  readonly createdAt: number;
}

/** What a handler is told of its delivery, and may say about it. */
export interface Delivery {
  /** From 1; counted before the handler is called, so one that killed its worker counts too. */
  readonly number: number;
  /**
   * Whether an earlier delivery may have taken effect: it succeeded unseen, failed without proof, or its worker died.
   */
  readonly mayHaveRunBefore: boolean;
  /** The same for every delivery of this message, and for no other: pass it on as the provider's idempotency key. */
  readonly downstreamKey: string;
  /** What an earlier delivery noted. */
  readonly providerId: string | null;
  /** Aborted when the lease is lost, the time is up, or the worker stops and will not wait any longer. */
  readonly signal: AbortSignal;
  /**
   * Records what the provider called it; resolves when that is stored. Rejects with `FenceLostError` when the lease is
   * lost, and with `StepError` for what is no text of 1 to 255 characters.
   */
  noteProviderId(providerId: string): Promise<void>;
  /** Lengthens the time this handler may run, by so many milliseconds from now. */
  extend(ms: number): void;
  /** If this delivery fails, the message is given up at once. */
  giveUp(): void;
  /**
   * Says that nobody knows whether it took effect: the message is given up whatever the handler returns or throws, and
   * the request that was handed over with it becomes `unknown` and is asked about at once. `reason` as of
   * `attempt.unknown`. A throw of `OutcomeUnknownError` says the same.
   */
  unknown(reason: string): void;
}

/**
 * Delivers a message. What it returns is the answer of a handed-over request: a JSON value, or `reply(status, value)`;
 * a reply of 500 or more, and a throw, are failures and tried again. `NotExecutedError` says that nothing happened. A
 * handler names the type of its payload: `(message: ReceivedMessage<Order>) => …`; a worker takes handlers of any.
 */
export type MessageHandler<Payload = never> = (
  message: ReceivedMessage<Payload>,
  delivery: Delivery,
) => unknown;

/** The worker's side of a delivery. */
export class RunningDelivery implements Delivery {
  readonly taken: TakenMessage;
  readonly startedAt: number;
  /** Whether the delivery before may have killed its worker. */
  readonly isSuspect: boolean;
  providerId: string | null;
  /** The lease lasts at least so long, on the monotonic clock: counted from when it was asked for. */
  leasedUntil: number;
  runsUntil: number;
  lost = false;
  /** The handler has ended. */
  ended = false;
  givesUp = false;
  /** The reason to keep, if the handler said that it does not know whether it took effect. */
  saidUnknown: string | null = null;
  timedOut = false;
  readonly #note: (request: NoteRequest) => Promise<LeaseResult>;
  readonly #now: () => number;
  readonly #downstreamKey: () => string;
  #isLostTold = false;
  #abort: AbortController | null = null;
  #aborted: Error | null = null;

  constructor(
    taken: TakenMessage,
    how: {
      readonly downstreamKey: () => string;
      /** The monotonic clock. */
      readonly now: () => number;
      readonly leasedUntil: number;
      readonly timeMaxMs: number;
      readonly note: (request: NoteRequest) => Promise<LeaseResult>;
    },
  ) {
    this.taken = taken;
    this.#downstreamKey = how.downstreamKey;
    this.#now = how.now;
    this.startedAt = how.now();
    this.leasedUntil = how.leasedUntil;
    this.runsUntil = this.startedAt + how.timeMaxMs;
    this.providerId = taken.providerId;
    this.isSuspect = taken.exhausted || isSuspect({ ...taken, started: taken.started - 1 });
    this.#note = how.note;
  }

  get lease(): Lease {
    const { id, place, leaseId, started } = this.taken;
    return { id, place, leaseId, started };
  }

  get downstreamKey(): string {
    return this.#downstreamKey();
  }

  get number(): number {
    return this.taken.started;
  }

  get mayHaveRunBefore(): boolean {
    return mayHaveRunBefore(this.taken);
  }

  /** Whether the lease is certainly over: until it is, nobody else has the message. */
  get isOver(): boolean {
    return this.#now() >= this.leasedUntil;
  }

  /** Whether to tell that its lease is lost: once, however often it is found out. */
  tellLost(): boolean {
    const isFirst = !this.#isLostTold;
    this.#isLostTold = true;
    return isFirst;
  }

  /** Made when first asked for: most handlers never look. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted !== null) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  async noteProviderId(providerId: string): Promise<void> {
    checkProviderId(providerId);
    if ((await this.#note({ ...this.lease, providerId })) !== 'applied') throw new FenceLostError();
    this.providerId = providerId;
  }

  extend(ms: number): void {
    if (Number.isFinite(ms)) this.runsUntil = Math.max(this.runsUntil, this.#now() + ms);
  }

  giveUp(): void {
    this.givesUp = true;
  }

  unknown(reason: string): void {
    this.saidUnknown ??= unknownReason(MESSAGE_UNKNOWN, reason);
  }

  /** The handler should stop. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#abort?.abort(this.#aborted);
  }
}
