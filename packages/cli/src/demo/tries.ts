/**
 * What to try, as lines for a shell. Keys are new at each start, so that pasting them today never replays yesterday's
 * payment.
 */

/** Something to try. */
export interface Try {
  readonly title: string;
  /** What will be seen. */
  readonly see: string;
  readonly command: string;
}

/** The things to try, in order; `tag` makes the keys this start's own. */
export function tries(origin: string, tag: string): readonly Try[] {
  const pay = (key: string, options: string, amountCents = 1200, more = '', path = 'payments'): string =>
    [
      `curl ${options} ${origin}/${path} \\`,
      `  -H 'Content-Type: application/json' -H 'Idempotency-Key: "${key}-${tag}"' \\`,
      `  -d '{"customerId":"cus_1","amountCents":${amountCents},"currency":"usd"${more}}'`,
    ].join('\n');
  return [
    { title: 'A payment', see: '201 and a payment', command: pay('first', '-i') },
    {
      title: 'Its retry: the very same request again',
      see: 'the same payment, with Idempotency-Replayed: true; nothing is charged again',
      command: pay('first', '-i'),
    },
    {
      title: 'The same key with another amount',
      see: '422: a key stands for one request',
      command: pay('first', '-i', 9900),
    },
    {
      title: 'A double click: two requests at once',
      see: 'one payment, in both answers',
      command: `(for click in 1 2; do\n${pay('click', '-si')} &\ndone; wait)`,
    },
    {
      title: 'A hang-up: curl gives up after 0.2 s, the payment goes on',
      see: '"Operation timed out", and no answer',
      command: pay('hangup', '-i --max-time 0.2'),
    },
    {
      title: 'Its retry',
      see: 'the answer that was lost, replayed',
      command: pay('hangup', '-i'),
    },
    {
      title: 'A provider that charges, and whose reply is lost',
      see: '409: nobody knows, so nothing is charged again',
      command: pay('lost', '-i', 1200, ',"provider":"loses-reply"'),
    },
    {
      title: 'Its retry',
      see: '201: the provider was asked, and had charged',
      command: pay('lost', '-i', 1200, ',"provider":"loses-reply"'),
    },
    {
      title: 'An order: noted with its payment and a message to a worker, in one transaction',
      see: '202 and a payment without a charge',
      command: pay('order', '-i', 1200, '', 'orders'),
    },
    {
      title: 'Its retry, two seconds later (or ask at its Location)',
      see: '201: the worker had it charged',
      command: `sleep 2; ${pay('order', '-i', 1200, '', 'orders')}`,
    },
    {
      title: 'What the provider has charged',
      see: 'one charge per intent',
      command: `curl ${origin}/ledger`,
    },
  ];
}
