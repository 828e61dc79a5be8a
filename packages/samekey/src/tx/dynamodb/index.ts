/**
 * Transactions of DynamoDB: a handler lists its writes, and one `TransactWriteItems` makes them together with the end
 * of its record, or none of them. Nothing is written while the handler runs, so there is nothing to roll back.
 *
 * Invariants: one transaction has one `ClientRequestToken`; without a clear answer it is sent again under the same,
 * which DynamoDB takes for the same transaction for ten minutes · what was given up without a clear answer is told as
 * unclear, whatever the last try was told · tries and time are bounded.
 * Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
 */

import { OptionsError } from '../../core/errors.ts';
import { aFunction, readOptions, type Table, wholeNumber } from '../../core/options.ts';
import type { ItemTransaction, TransactionSource } from '../../store/transaction.ts';
import { send, type TransactingClient, UnclearError } from './send-transaction.ts';

export type { TransactingClient } from './send-transaction.ts';

/** An element of the client's `TransactItems`: `{ Put }`, `{ Update }`, `{ Delete }` or `{ ConditionCheck }`. */
export type TransactElement<Client extends TransactingClient> = Parameters<
  Client['transactWriteItems']
>[0] extends { TransactItems: infer Items }
  ? NonNullable<Items> extends readonly (infer Element extends object)[]
    ? Element
    : object
  : object;

/** What a handler gets as its transaction. */
export interface DynamoDbTransaction<Element extends object = object> {
  /**
   * Lists writes, as in `TransactItems`; they are made when the handler has returned. A condition that does not hold
   * then means that what the handler read has changed: the handler runs again, five times at most. Throws
   * `OptionsError` after the handler's end.
   */
  write(...elements: readonly Element[]): void;
}

/** Options of {@link fromDynamodb}. */
export interface FromDynamodbOptions {
  /** Longest wait for one answer, in milliseconds; default 2000. The SDK's own tries count into it. */
  readonly callTimeMaxMs?: number;
  /** Test-only randomness for jitter, in [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** DynamoDB's own limit, the element for the record and its rows of the audit included. */
const ELEMENTS_MAX = 100;

const ROWS = {
  callTimeMaxMs: wholeNumber(1, 600_000, 2_000),
  random: aFunction<() => number>(),
} satisfies Table<FromDynamodbOptions>;

/**
 * Runs each handler in a transaction of DynamoDB. Throws `OptionsError` for a client or an option that it cannot use.
 */
export function fromDynamodb<Client extends TransactingClient>(
  client: Client,
  options: FromDynamodbOptions = {},
): TransactionSource<DynamoDbTransaction<TransactElement<Client>>, ItemTransaction> {
  const { callTimeMaxMs, random = Math.random } = readOptions('fromDynamodb', ROWS, options);
  if (typeof (client as Partial<TransactingClient> | undefined)?.transactWriteItems !== 'function') {
    throw new OptionsError(
      'fromDynamodb needs a `DynamoDB` of @aws-sdk/client-dynamodb, which has transactWriteItems(); this has none.',
    );
  }
  return {
    name: 'dynamodb',
    dialect: 'dynamodb',
    tellsCommit: true,
    exclusive: false,
    async run(body) {
      const open = openTransaction();
      let isKnown = true;
      try {
        const result = await body(open.tx, open.handle);
        open.close();
        await send(client, open.input(), callTimeMaxMs, random);
        await open.end(true);
        return result;
      } catch (error) {
        open.close();
        isKnown = !(error instanceof UnclearError);
        if (isKnown) await open.end(false);
        throw error;
      }
    },
  };
}

interface OpenTransaction {
  readonly tx: DynamoDbTransaction;
  readonly handle: ItemTransaction;
  close(): void;
  /** What is to be sent; null for nothing. */
  input(): { readonly TransactItems: readonly object[] } | null;
  end(isCommitted: boolean): Promise<void>;
}

function openTransaction(): OpenTransaction {
  const elements: object[] = [];
  const told: ((isCommitted: boolean) => Promise<void>)[] = [];
  let isOpen = true;
  let endsAt = Number.POSITIVE_INFINITY;
  function write(...more: readonly object[]): void {
    if (!isOpen) {
      throw new OptionsError(
        'write() came after the end of its transaction: list every write before the handler returns.',
      );
    }
    elements.push(...more);
  }
  return {
    tx: { write },
    handle: {
      isItemTransaction: true,
      write,
      onEnd: (ended) => void told.push(ended),
      limit(timeMaxMs) {
        endsAt = performance.now() + timeMaxMs;
      },
    },
    close() {
      isOpen = false;
    },
    input() {
      if (elements.length > ELEMENTS_MAX) {
        throw new OptionsError(
          `The transaction has ${elements.length} elements, with the end of its record; DynamoDB takes ${ELEMENTS_MAX}: write less in one operation.`,
        );
      }
      if (performance.now() > endsAt) {
        throw Object.assign(
          new Error('The handler took longer than its transaction may: nothing was written.'),
          { name: 'TransactionNotSent' },
        );
      }
      return elements.length === 0 ? null : { TransactItems: elements };
    },
    async end(isCommitted) {
      for (const ended of told) await ended(isCommitted).catch(() => undefined);
    },
  };
}
