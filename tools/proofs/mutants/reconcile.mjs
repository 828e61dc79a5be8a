/** Reconciliation: when a word counts, and what is done with it. */

const COUNTS = ['reconcile/no-effect.test.ts'];
const RECONCILER = ['reconcile/reconciler.test.ts'];
const WEBHOOKS = ['reconcile/webhooks.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const reconcile = [
  {
    name: 'reconcile-no-effect-without-call-time',
    file: 'reconcile/no-effect.ts',
    find: 'record.lockedUntil + callTimeMs - askedAt,',
    put: 'record.lockedUntil - askedAt,',
    tests: COUNTS,
    breaks: '"No effect" counts while a call may be under way.',
  },
  {
    name: 'reconcile-no-effect-one-moment-early',
    file: 'reconcile/no-effect.ts',
    find: 'return leftMs <= 0 ?',
    put: 'return leftMs <= 1 ?',
    tests: COUNTS,
    breaks: '"No effect" counts a millisecond before the longest call has had its time.',
  },
  {
    name: 'reconcile-owner-believed-gone',
    file: 'reconcile/no-effect.ts',
    find: '!isOwnerGone(record, effect === null ? undefined : effect.attempt)',
    put: 'false',
    tests: COUNTS,
    breaks:
      'An owner that stood still before its call wakes and makes it, after somebody has said that nothing happened.',
  },
  {
    name: 'reconcile-provider-forgets',
    file: 'reconcile/no-effect.ts',
    find: 'if (askedAt > rememberedUntil(record, effect, rule))',
    put: 'if (askedAt > Infinity)',
    tests: COUNTS,
    breaks: 'A provider that has forgotten the call is believed when it does not find it.',
  },
  {
    name: 'reconcile-not-watched',
    file: 'reconcile/no-effect.ts',
    find: 'watchedMs === null ? 0 : callTimeMs - watchedMs,',
    put: '0,',
    tests: COUNTS,
    breaks: 'A clock that was set forward makes "no effect" count too early.',
  },
  {
    name: 'reconcile-threw-is-told',
    file: 'core/owner-gone.ts',
    find: 'if (open !== undefined) return (open ?? 1) === record.attempt;',
    put: 'if (open !== undefined) return true;',
    tests: COUNTS,
    breaks: 'The end of one attempt says that the owner of an earlier one is gone.',
  },
  {
    name: 'reconcile-hung-owner-gone',
    file: 'core/owner-gone.ts',
    find: '/^(?:handler-threw|',
    put: '/^(?:handler-threw|claim-ended|attempt-time-up|',
    tests: ['reconcile/no-effect.test.ts', 'reconcile/reconciler.test.ts'],
    breaks: 'An owner that fell silent counts as gone, and wakes to make its call.',
  },
  {
    name: 'reconcile-asked-once-more',
    file: 'reconcile/ask.ts',
    find: 'const isLast = inquiries >= options.inquiriesMax;',
    put: 'const isLast = inquiries > options.inquiriesMax;',
    tests: RECONCILER,
    breaks: 'A question is asked once more than allowed.',
  },
  {
    name: 'reconcile-counted-from-the-answer',
    file: 'reconcile/ask.ts',
    find: 'const askedAt = (record.reconcileAfter ?? 0) - options.leaseMs;',
    put: 'const askedAt = record.reconcileAfter ?? 0;',
    tests: RECONCILER,
    breaks:
      'An answer counts as asked for when its lease ends: a slow question makes "no effect" count too early.',
  },
  {
    name: 'reconcile-settled-without-its-conditions',
    file: 'reconcile/settle.ts',
    find: "...(says === 'no-effect' ? conditionsOf(record, effect, rule) : {}),",
    put: '',
    tests: ['reconcile/webhooks.test.ts', 'reconcile/reconciler.test.ts'],
    breaks: 'The machine\'s clock, not the store\'s, decides whether "no effect" counts.',
  },
  {
    name: 'reconcile-lost-reply-given-up',
    file: 'reconcile/settle.ts',
    find: '|| tries >= TRIES_MAX) throw error;',
    put: '|| tries >= 1) throw error;',
    tests: RECONCILER,
    breaks: 'A settling whose reply was lost is not repeated.',
  },
  {
    name: 'reconcile-silent-contradiction',
    file: 'reconcile/meet.ts',
    find: 'return happened ? already : contradiction;',
    put: 'return already;',
    tests: ['reconcile/no-effect.test.ts', 'reconcile/webhooks.test.ts'],
    breaks: 'Nobody hears that a provider knows nothing of what was answered as done.',
  },
  {
    name: 'reconcile-the-first-of-two',
    file: 'reconcile/find.ts',
    find: 'if (first === undefined || second === undefined) return first ?? null;',
    put: 'if (first !== second) return first ?? null;',
    tests: WEBHOOKS,
    breaks: "One tenant's charge gets the answer that another's bank gave.",
  },
  {
    name: 'reconcile-webhook-of-an-earlier-attempt',
    file: 'reconcile/tell.ts',
    find: "const attempt = (!carriesKey(effect, rule) && 'attempt' in by ? by.attempt : undefined) ?? null;",
    put: 'const attempt = null;',
    tests: WEBHOOKS,
    breaks: 'A word about an earlier attempt settles the later one.',
  },
];
