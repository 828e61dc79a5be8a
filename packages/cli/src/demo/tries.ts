/**
 * What to try, as requests for buttons and as lines for a shell. Keys are new at each start, so that pasting them today
 * never replays yesterday's payment.
 */

/** A request to try, as data. */
interface TryRequest {
  readonly path: 'payments' | 'orders';
  readonly key: string;
  readonly body: Readonly<Record<string, string | number>>;
  /** How many of it are sent at once. */
  readonly times: 1 | 2;
  /** When the client hangs up, in milliseconds; null: it does not. */
  readonly hangUpMs: number | null;
  /** How long to wait before it is sent, in milliseconds. */
  readonly waitMs: number;
}

/** Something to try. */
export interface Try {
  readonly title: string;
  /** What will be seen. */
  readonly see: string;
  readonly command: string;
  /** Null: it only reads. */
  readonly request: TryRequest | null;
}

/** The things to try, in order; `tag` makes the keys this start's own. */
export function tries(origin: string, tag: string): readonly Try[] {
  const one = (title: string, see: string, name: string, other: Partial<Wanted> = {}): Try => {
    const { amountCents = 1200, provider, ...own } = other;
    const body = { customerId: 'cus_1', amountCents, currency: 'usd', ...(provider && { provider }) };
    const usual = { path: 'payments', times: 1, hangUpMs: null, waitMs: 0 } as const;
    const request = { ...usual, ...own, key: `${name}-${tag}`, body };
    return { title, see, request, command: commandOf(origin, request) };
  };
  return [
    one('A payment', '201 and a payment', 'first'),
    one(
      'Its retry: the very same request again',
      'the same payment, with Idempotency-Replayed: true; nothing is charged again',
      'first',
    ),
    one('The same key with another amount', '422: a key stands for one request', 'first', {
      amountCents: 9900,
    }),
    one('A double click: two requests at once', 'one payment, in both answers', 'click', { times: 2 }),
    one(
      'A hang-up: curl gives up after 0.2 s, the payment goes on',
      '"Operation timed out", and no answer',
      'hangup',
      { hangUpMs: 200 },
    ),
    one('Its retry', 'the answer that was lost, replayed', 'hangup'),
    one(
      'A provider that charges, and whose reply is lost',
      '409: nobody knows, so nothing is charged again',
      'lost',
      { provider: 'loses-reply' },
    ),
    one('Its retry', '201: the provider was asked, and had charged', 'lost', { provider: 'loses-reply' }),
    one(
      'An order: noted with its payment and a message to a worker, in one transaction',
      '202 and a payment without a charge',
      'order',
      { path: 'orders' },
    ),
    one('Its retry, two seconds later (or ask at its Location)', '201: the worker had it charged', 'order', {
      path: 'orders',
      waitMs: 2_000,
    }),
    {
      title: 'What the provider has charged',
      see: 'one charge per intent',
      command: `curl ${origin}/ledger`,
      request: null,
    },
  ];
}

interface Wanted extends Omit<TryRequest, 'key' | 'body'> {
  readonly amountCents: number;
  readonly provider: string;
}

/** The line for a shell. */
function commandOf(origin: string, { path, key, body, times, hangUpMs, waitMs }: TryRequest): string {
  const options = times > 1 ? '-si' : hangUpMs === null ? '-i' : `-i --max-time ${hangUpMs / 1000}`;
  const line = [
    `curl ${options} ${origin}/${path} \\`,
    `  -H 'Content-Type: application/json' -H 'Idempotency-Key: "${key}"' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
  if (times > 1) return `(for click in 1 2; do\n${line} &\ndone; wait)`;
  return waitMs === 0 ? line : `sleep ${waitMs / 1000}; ${line}`;
}
