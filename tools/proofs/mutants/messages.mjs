/** Outbox and worker: the state table of messages, the statements that keep it, and who delivers. */

const SQLITE = ['outbox/sqlite.test.ts'];
const WORKER = ['worker/worker.test.ts'];
const POSTGRES = ['outbox/postgres.test.ts'];
/** One server, one client. */
const on = (/** @type {string} */ titles) => `PostgreSQL 18 with pg .*(?:${titles})`;

/** @type {import('./mutant.mjs').Mutant[]} */
export const messages = [
  {
    name: 'message-lease-of-another-take',
    file: 'core/message-machine.ts',
    find: 'message.leaseId === lease.leaseId &&',
    put: '',
    tests: SQLITE,
    breaks: 'A worker that lost its lease ends the delivery of another.',
  },
  {
    name: 'message-group-out-of-order',
    file: 'core/message-machine.ts',
    find: 'if (!isHead) return { ...message, parked: true };',
    put: '',
    tests: SQLITE,
    breaks: 'Messages of a group overtake each other.',
  },
  {
    name: 'message-one-delivery-more',
    file: 'core/message-machine.ts',
    find: 'return message.started - message.forgiven >= deliveriesMax;',
    put: 'return message.started - message.forgiven > deliveriesMax;',
    tests: SQLITE,
    breaks: 'A message that kills its worker does so once more than allowed.',
  },
  {
    name: 'message-before-its-time',
    file: 'core/message-machine.ts',
    find: '? !message.parked && message.dueAt <= now : over;',
    put: '? !message.parked : over;',
    tests: ['outbox/sqlite.test.ts', 'worker/worker.test.ts'],
    breaks: 'A delayed message comes at once.',
  },
  {
    name: 'message-every-failure-proven',
    file: 'core/message-machine.ts',
    find: 'dueAt: now + request.delayMs,\n    started: message.started - (1 - begun),\n    finished: message.finished + begun,\n    proven: message.proven + (request.proven ? begun : 0),',
    put: 'dueAt: now + request.delayMs,\n    started: message.started - (1 - begun),\n    finished: message.finished + begun,\n    proven: message.proven + begun,',
    tests: SQLITE,
    breaks: 'A delivery that may have taken effect is told to the next as one that had none.',
  },
  {
    name: 'message-requeued-beside-another-attempt',
    file: 'core/message-machine.ts',
    find: 'if (record.claimId !== owner.claimId || record.attempt !== owner.attempt) return false;',
    put: '',
    tests: SQLITE,
    breaks: 'A dead letter is delivered again while another attempt does its work.',
  },
  {
    name: 'message-requeued-at-once',
    file: 'core/message-machine.ts',
    find: "dueAt: now + (message.owner !== null && record?.state === 'failed' ? REOPEN_DELAY_MS : 0),",
    put: 'dueAt: now,',
    tests: SQLITE,
    breaks: 'A message runs while the failure it was told as is still replayed elsewhere.',
  },
  {
    name: 'worker-throw-proven',
    file: 'worker/deliverer.ts',
    find: 'const proven = !isUnknown && isNotExecutedError(error);',
    put: 'const proven = !isUnknown;',
    tests: ['worker/handed-over.test.ts'],
    only: 'handed over: sqlite.* a message that is given up fails',
    breaks:
      'A handler that threw counts as one without effect, and its request fails though it may have been done.',
  },
  {
    name: 'worker-5xx-delivered',
    file: 'worker/deliverer.ts',
    find: 'if (isReply(value) && value.status >= 500) throw new Error(`The handler answered ${value.status}.`);',
    put: '',
    tests: ['worker/handed-over.test.ts'],
    only: 'handed over: sqlite.* answers 500 or above',
    breaks: 'A handler that answered 503 is done, and nobody tries again.',
  },
  {
    name: 'worker-given-up-one-too-late',
    file: 'worker/deliverer.ts',
    find: 'taken.started - taken.forgiven >= options.deliveriesMax',
    put: 'taken.started - taken.forgiven > options.deliveriesMax',
    tests: WORKER,
    only: 'worker: sqlite.* a message is given up after its bound',
    breaks: 'A message is delivered once more than allowed.',
  },
  {
    name: 'sqlite-messages-contradiction-untold',
    file: 'stores/sqlite/messages.ts',
    find: "return result?.kind === 'applied' || result?.kind === 'already' ? 'applied' : 'contradiction';",
    put: "return result?.kind === 'applied' || result?.kind === 'already' ? 'applied' : 'applied';",
    tests: SQLITE,
    only: 'a record that has moved on',
    breaks: 'Work that was done for a request which ended otherwise is told by nobody.',
  },
  {
    name: 'postgres-message-ended-without-lease',
    file: 'stores/postgres/messages-statements.ts',
    find: 'AND m.lease_id = q.lease_id AND m.started = q.started FOR UPDATE) m)`;',
    put: 'AND m.started = q.started FOR UPDATE) m)`;',
    tests: POSTGRES,
    only: on(''),
    breaks: 'A worker that lost its lease ends the delivery of another.',
  },
  {
    name: 'postgres-message-group-overtaken',
    file: 'stores/postgres/messages-statements.ts',
    find: "WHERE e.group_key = m.group_key AND e.state <> 'dead' AND e.place < m.place)) AS head",
    put: "WHERE e.group_key = m.group_key AND e.state = 'leased' AND e.place < m.place)) AS head",
    tests: POSTGRES,
    only: on(''),
    breaks: 'Messages of a group overtake one that waits to be tried again.',
  },
];
