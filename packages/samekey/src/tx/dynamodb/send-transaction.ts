/**
 * Sends one transaction until DynamoDB has said what became of it, under one `ClientRequestToken`, within bounds.
 *
 * Source:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-apis-txwriteitems.
 */

/** What is used of the aggregated `DynamoDB` client of `@aws-sdk/client-dynamodb` 3. */
export interface TransactingClient {
  // The SDK's input is an exact type of its own.
  transactWriteItems(input: never, options?: never): Promise<unknown>;
}

/** Times that one transaction is sent, under one token. */
const TRIES_MAX = 6;
const PAUSE_MIN_MS = 25;
const PAUSE_MAX_MS = 1_000;

/** Nobody knows whether it was applied. The store knows it by its name. */
export class UnclearError extends Error {
  override readonly name = 'TransactionUnclear';

  constructor(cause: unknown) {
    super('DynamoDB did not say whether the transaction was written.', { cause });
  }
}

/** Sends until there is a clear answer. Throws what the client threw, or {@link UnclearError}. */
export async function send(
  client: TransactingClient,
  input: { readonly TransactItems: readonly object[] } | null,
  callTimeMaxMs: number,
  random: () => number,
): Promise<void> {
  if (input === null) return;
  const tokened = { ...input, ClientRequestToken: crypto.randomUUID() };
  let mayBeApplied = false;
  for (let tries = 1; ; tries += 1) {
    try {
      await withinTime(client, tokened, callTimeMaxMs);
      return;
    } catch (error) {
      const { name, $metadata, code } = (error ?? {}) as ClientError;
      // Under one token it would have been told as done, so it was not.
      if (name === 'TransactionCanceledException') throw error;
      const status = $metadata?.httpStatusCode ?? 0;
      const isRefused = (status >= 400 && status < 500) || NOT_SENT.has(code) || NOT_SENT.has(name);
      // The SDK itself asks again: what it was told last says nothing of the tries before.
      mayBeApplied ||=
        !isRefused || ($metadata?.attempts ?? 1) > 1 || name === 'TransactionInProgressException';
      const isWorthIt = mayBeApplied || THROTTLES.has(name);
      if (!isWorthIt || tries === TRIES_MAX) throw mayBeApplied ? new UnclearError(error) : error;
      await new Promise((resolve) => {
        setTimeout(resolve, random() * Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** tries));
      });
    }
  }
}

interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
}

/** Nothing was written; a little later it may be. */
const THROTTLES: ReadonlySet<unknown> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'ThrottledException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TransactionConflictException',
]);

/** The request never left this machine. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CredentialsProviderError',
]);

async function withinTime(client: TransactingClient, input: object, callTimeMaxMs: number): Promise<void> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${callTimeMaxMs} ms`), { name: 'TimeoutError' }));
      controller.abort();
    }, callTimeMaxMs);
  });
  try {
    const told = { abortSignal: controller.signal };
    await Promise.race([client.transactWriteItems(input as never, told as never), late]);
  } finally {
    clearTimeout(timer);
  }
}
