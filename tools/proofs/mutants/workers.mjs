/** Workers, reconcilers and operators beside one another, as the simulator of background work sees them. */

const TESTS = ['simulator/workers.test.ts'];
/** What is rare in histories has a test of its own: the seed that met it does not meet it when the engine changes. */
const LATE = ['worker/late-end.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const workers = [
  {
    name: 'workers-begin-after-their-lease',
    file: 'worker/deliverer.ts',
    find: 'if (delivery.isOver) {',
    put: 'if (delivery.ended) {',
    tests: [...TESTS, 'worker/keeping.test.ts'],
    breaks: 'A worker that stood still begins a message that another has, or has ended.',
  },
  {
    name: 'workers-lost-taken-for-done',
    file: 'worker/delivery-ends.ts',
    find: "result === 'lost' && unclear ? 'applied' : result",
    put: "result === 'lost' ? 'applied' : result",
    tests: TESTS,
    breaks: 'What somebody else has is told as delivered.',
  },
  {
    name: 'workers-key-of-each-delivery',
    file: 'worker/deliverer.ts',
    find: 'encoder.encode(messageKeyText(id))',
    put: 'encoder.encode(messageKeyText(id + world.newClaimId()))',
    tests: TESTS,
    breaks: 'The provider takes each delivery for another thing, and does it again.',
  },
  {
    name: 'workers-contradiction-without-a-row',
    file: 'worker/deliverer.ts',
    find: 'void noter.note(',
    put: 'void String(',
    tests: LATE,
    breaks: 'Work that was done and does not fit its record is told to whoever listens, and nowhere noted.',
  },
  {
    name: 'workers-late-end-for-nobody',
    file: 'worker/deliverer.ts',
    find: 'return endedLate(delivery, record);',
    put: 'return;',
    tests: LATE,
    breaks: 'Work that was done after its lease contradicts a settlement, and nobody is told.',
  },
  {
    name: 'workers-never-run-before',
    file: 'worker/delivery.ts',
    find: 'return mayHaveRunBefore(this.taken);',
    put: 'return false;',
    tests: TESTS,
    breaks: 'A handler is not told that an earlier delivery may have done it.',
  },
  {
    name: 'workers-requeue-beside-a-decision',
    file: 'stores/memory/messages.ts',
    find: '!mayRequeue(message, record)',
    put: 'false',
    tests: TESTS,
    breaks: 'A dead letter is delivered again although its request was decided.',
  },
  {
    name: 'workers-group-in-any-order',
    file: 'stores/memory/messages.ts',
    find: 'const isHead = group === null || firstOf(group)?.place === message.place;',
    put: 'const isHead = message.place > 0;',
    tests: TESTS,
    breaks: 'Entries of an account are delivered beside one another.',
  },
  {
    name: 'workers-commit-of-a-lost-claim',
    file: 'stores/memory/transactions.ts',
    find: 'staged.rows.isStale() || staged.records.isStale()',
    put: 'staged.rows.isStale()',
    tests: TESTS,
    breaks: 'A transaction whose sender has given up on it commits beside the one that follows.',
  },
  {
    name: 'reconciler-notes-once',
    file: 'reconcile/settle.ts',
    find: "emit({ type: 'store-error', verb: 'note', error });",
    put: "return emit({ type: 'store-error', verb: 'note', error });",
    tests: ['reconcile/webhooks.test.ts'],
    breaks:
      'A webhook contradicts the record while the store is busy for a moment, and the audit has no row of it.',
  },
];
