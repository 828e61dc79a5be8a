/**
 * `samekey.transactional`: the handler gets the caller's own transaction; its writes and the completion of its record
 * commit together (see ways/run-in-transaction.ts for how).
 */

import type { Attempt } from '../engine/attempt.ts';
import type { Engine } from '../engine/engine.ts';
import { OptionsError } from '../core/errors.ts';
import { messageKeyText } from '../store/message.ts';
import type { Proof } from '../core/record.ts';
import { referenceOf } from '../store/references.ts';
import { newMessage, type OutboxMessage } from '../store/new-message.ts';
import { aFunction, oneOf, readOptions, required, type Table } from '../core/options.ts';
import type { Owner } from '../engine/owner.ts';
import { isReply, reply, type ReplyValue, tellIfUnmade, toResponse } from './reply.ts';
import { type OperationOptions, resolveSettings } from '../core/settings.ts';
import type { Transactions } from './commit.ts';
import { KeyReservation } from './reservation.ts';
import { type Answered, runTransactional } from './run-in-transaction.ts';
import type { Within } from '../store/transaction.ts';
import type { Handler } from '../engine/work.ts';
import { type InputCodec, inputCodec } from './input.ts';
import {
  createOperation,
  type Definition,
  DEFINITION_ROWS,
  namesOf,
  type Operation,
} from './define-operation.ts';
import { watchHandler } from './unprotected-fetch.ts';

/** What a transactional handler is told of its attempt, and may say about it. */
export interface TransactionalAttempt<Tx> extends Attempt {
  /** Your transaction. Throws once the handler has ended: what ran on it then would not belong to the attempt. */
  readonly tx: Tx;
  /** Keeps the answer and drops the writes: the transaction is rolled back, the answer is stored by itself. */
  rollback(): void;
  /**
   * Enqueues a message that the operation goes on with, in this transaction: the record stays `pending` until the
   * message's worker has ended it. The handler's answer is this caller's only (202 unless it is a `reply`); a retry is
   * told to ask again, and later gets what the worker answered. Gives the message's id.
   */
  handOver(message: OutboxMessage): Promise<string>;
}

/** A transactional operation. `claimTtlMs` is how long its transaction may take; it is not renewed meanwhile. */
export interface TransactionalDefinition<Input, Returned, Tx> extends Definition {
  /** Returns a JSON value or `reply(status, value)`. May run again after a rollback; a throw and a 5xx roll back. */
  readonly run: (input: Input, attempt: TransactionalAttempt<Tx>) => Returned | Promise<Returned>;
  /** How the input is kept when the operation is deferred; default JSON. */
  readonly input?: InputCodec<Input>;
  /**
   * Where a new key is reserved. `before` (default): in a commit of its own, before the transaction. `in-transaction`:
   * by a lock of the transaction, so that key, writes, messages and answer are one commit.
   * Needs a store whose capability `transactionLock` is true.
   */
  readonly reserve?: 'before' | 'in-transaction';
}

const ROWS = {
  ...DEFINITION_ROWS,
  run: required(aFunction()),
  reserve: oneOf(['before', 'in-transaction'], 'before'),
} satisfies Table<TransactionalDefinition<never, unknown, never>>;

/** Defines it. Throws `OptionsError`. */
export function defineTransactional<Input, Returned, Tx>(
  engine: Engine,
  defaults: OperationOptions,
  transactions: Transactions<Tx> | null,
  definition: TransactionalDefinition<Input, Returned, Tx>,
): Operation<Input, ReplyValue<Returned>> {
  const { reserve } = readOptions('samekey.transactional', ROWS, definition);
  const from = transactionsOf(transactions);
  if (reserve === 'in-transaction') checkReserves(from, definition.name);
  const settings = resolveSettings(
    { policy: 'standard', ...defaults },
    { ...definition, whenClaimEnds: 'resume' },
  );
  return createOperation({
    engine,
    names: namesOf(definition),
    settings,
    codec: inputCodec(definition.input),
    schema: definition.schema ?? null,
    keepsInput: false,
    pendingTimeMaxMs: null,
    takesSteps: false,
    mayBeUnseen: reserve === 'in-transaction',
    handler(input): Handler {
      const reserving = reserve === 'in-transaction' ? new KeyReservation(engine.world, from) : null;
      async function body(attempt: Attempt, owner: Owner, tx: Tx, within: Within): Promise<Answered> {
        const own = new AttemptInTransaction(attempt, tx, handOverOf(owner, within));
        const watch = watchHandler(engine, definition.name);
        try {
          const returned = await watch.handler(async () => definition.run(input, own));
          tellIfUnmade(returned, owner);
          await own.handingOver;
          const { rolledBack: rollBack, handedOver: handOver } = own;
          const response = toResponse(handOver && !isReply(returned) ? reply(202, returned) : returned);
          return { response, rollBack, handOver };
        } finally {
          own.end();
          watch.end();
        }
      }
      return {
        reserving,
        start: (attempt, owner) =>
          runTransactional(owner, from, (tx, within) => body(attempt, owner, tx, within), reserving),
      };
    },
  });
}

/** Throws `OptionsError` where keys cannot be reserved inside transactions. */
function checkReserves<Tx>({ store }: Transactions<Tx>, name: string): void {
  if (store.capabilities.transactionLock) return;
  throw new OptionsError(
    `"${name}" reserves its keys in its transaction (reserve: 'in-transaction'), and the store "${store.name}" has no locks that a transaction holds until its end: leave the option out.`,
  );
}

/** Throws `OptionsError` where the instance has none. */
function transactionsOf<Tx>(transactions: Transactions<Tx> | null): Transactions<Tx> {
  if (transactions !== null) return transactions;
  throw new OptionsError(
    'This needs transactions: createSamekey({ store, transactions: fromPg(pool) }), with the store and your data in one database.',
  );
}

/** Enqueues a message that carries the attempt's fence. */
function handOverOf({ attempt, world }: Owner, within: Within): (message: OutboxMessage) => Promise<string> {
  return async (message) => {
    const made = newMessage(world, message, { ...attempt.id, ...attempt.fence });
    const downstreamKey = await world.sha256(new TextEncoder().encode(messageKeyText(made.id)));
    await within.enqueue([{ ...made, reference: await referenceOf(world, 'downstream-key', downstreamKey) }]);
    return made.id;
  };
}

/** An attempt whose transaction is open. */
class AttemptInTransaction<Tx> implements TransactionalAttempt<Tx> {
  rolledBack = false;
  /** The message is in: without one nobody would ever end the record. */
  handedOver = false;
  /** Rejects when the message could not be put in: then the handler must not answer, whether it caught that or not. */
  handingOver: Promise<string> | null = null;
  readonly #attempt: Attempt;
  readonly #tx: Tx;
  readonly #enqueue: (message: OutboxMessage) => Promise<string>;
  #ended = false;

  constructor(attempt: Attempt, tx: Tx, enqueue: (message: OutboxMessage) => Promise<string>) {
    this.#attempt = attempt;
    this.#tx = tx;
    this.#enqueue = enqueue;
  }

  get tx(): Tx {
    this.#checkOpen();
    return this.#tx;
  }

  get number(): number {
    return this.#attempt.number;
  }

  get operation(): string {
    return this.#attempt.operation;
  }

  get scope(): string {
    return this.#attempt.scope;
  }

  get key(): string {
    return this.#attempt.key;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get resumed(): { readonly proof: Proof | null; readonly reason: string | null } | null {
    return this.#attempt.resumed;
  }

  rollback(): void {
    this.#checkOpen();
    this.rolledBack = true;
  }

  handOver(message: OutboxMessage): Promise<string> {
    this.#checkOpen();
    if (this.handedOver || this.handingOver !== null) {
      throw new OptionsError(
        'handOver was called twice: a record has one worker. Enqueue further messages by themselves.',
      );
    }
    const handing = this.#handOver(message);
    this.handingOver = handing;
    // Not waited for, it fails the attempt when the handler returns, and never the process.
    handing.catch(() => undefined);
    return handing;
  }

  async #handOver(message: OutboxMessage): Promise<string> {
    const id = await this.#enqueue(message);
    this.handedOver = true;
    return id;
  }

  notExecuted(options?: { readonly correctable?: boolean }): void {
    this.#checkOpen();
    this.#attempt.notExecuted(options);
  }

  /** Not refused once it has ended: what nobody knows is better heard late than never. */
  unknown(reason: string): void {
    this.#attempt.unknown(reason);
  }

  extend(ms: number): void {
    this.#attempt.extend(ms);
  }

  end(): void {
    this.#ended = true;
  }

  #checkOpen(): void {
    if (!this.#ended) return;
    throw new OptionsError(
      'The transaction of this attempt has ended: await everything inside the handler before it returns.',
    );
  }
}
