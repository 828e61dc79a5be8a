/** The DynamoDB store: conditions of single writes, alone and as elements of a transaction. */

const CONTRACT = ['stores/dynamodb.test.ts'];
const FAULTS = ['stores/dynamodb-faults.test.ts'];
const on = (/** @type {string} */ titles) => `dynamodb on dynalite (?:${titles})`;

/** @type {import('./mutant.mjs').Mutant[]} */
export const dynamodb = [
  {
    name: 'dynamodb-claim-over-what-stands',
    file: 'stores/dynamodb/element.ts',
    find: "if (before === null) return { ConditionExpression: 'attribute_not_exists(pk)' };",
    put: 'if (before === null) return {};',
    tests: CONTRACT,
    only: on('claims'),
    breaks: 'A claim takes a key that somebody works on.',
  },
  {
    name: 'dynamodb-write-over-what-was-not-read',
    file: 'stores/dynamodb/element.ts',
    find: "let condition = 'w = :was';",
    put: "let condition = ':was = :was';",
    tests: CONTRACT,
    only: on('claims|capabilities|unknown|sweeping|erasing'),
    breaks: 'Two that take over one ended claim at once are both told that they have it.',
  },
  {
    name: 'dynamodb-transaction-without-its-version',
    file: 'stores/dynamodb/within.ts',
    find: 'tx.write(putOnto(tableName, fit.item, before, stored.version));',
    put: 'tx.write(putOnto(tableName, fit.item, before));',
    tests: ['tx/dynamodb.test.ts'],
    only: 'shut out',
    breaks:
      'A transaction that is still under way is committed after its owner was told that it had not been.',
  },
  {
    name: 'dynamodb-element-without-claim',
    file: 'stores/dynamodb/element.ts',
    find: '`claim_id = :claimId AND attempt = :attempt AND #state = :state${',
    put: '`attribute_exists(pk) AND attempt = :attempt AND #state = :state AND :claimId = :claimId${',
    tests: ['stores/dynamodb-table.test.ts'],
    only: 'of an earlier life of the key',
    breaks: 'A transaction commits under the claim of another attempt.',
  },
  {
    name: 'dynamodb-own-write-taken-for-others',
    file: 'stores/dynamodb/records.ts',
    find: 'if (stands?.version !== version) {',
    put: 'if (stands !== undefined) {',
    tests: FAULTS,
    breaks: 'A write whose reply was lost is decided on again as if somebody else had made it.',
  },
  {
    name: 'dynamodb-throttled-once',
    file: 'stores/dynamodb/calls.ts',
    find: 'if (!isThrottle(error) || round + 1 >= TRIES_MAX) throw',
    put: 'if (!isThrottle(error) || round >= 0) throw',
    tests: FAULTS,
    breaks: 'A table that is busy for a moment fails requests.',
  },
  {
    name: 'dynamodb-repeated-call-not-applied',
    file: 'stores/dynamodb/calls.ts',
    find: 'mayHaveRun ||= attempts > 1;',
    put: '',
    tests: FAULTS,
    breaks:
      'A write that the client has repeated by itself is said not to have been made, though the first try may have been.',
  },
  {
    name: 'dynamodb-neighbour-not-applied',
    file: 'stores/dynamodb/calls.ts',
    find: 'mayBeApplied = true;\n        return result;',
    put: 'return result;',
    tests: FAULTS,
    only: 'one row was written and another was refused',
    breaks: 'Of a call in which one row was written it is said that nothing was.',
  },
  {
    name: 'dynamodb-claim-ended-by-wall-clock',
    file: 'stores/dynamodb/view.ts',
    find: "if (record?.state === 'in_progress') return watch.see(record);",
    put: "if (record?.state === 'in_progress') return Math.max(0, record.lockedUntil - now);",
    tests: CONTRACT,
    only: on('capabilities'),
    breaks: 'A process whose clock is ahead takes living claims away.',
  },
  {
    name: 'dynamodb-bodies-of-others-deleted',
    file: 'stores/dynamodb/bodies.ts',
    find: 'if (place.startsWith(own)) await bodies',
    put: 'await bodies',
    tests: ['stores/dynamodb-bodies.test.ts'],
    only: 'of two tables',
    breaks: 'A copy that erases a record deletes the answer that its original still has to give.',
  },
  {
    name: 'dynamodb-bodies-without-table',
    file: 'stores/dynamodb/bodies.ts',
    find: 'const place = `${await tableId()}/${name}`;',
    put: 'const place = `t/${name}`;',
    tests: ['stores/dynamodb-bodies.test.ts'],
    only: 'after it was seen alone',
    breaks: 'A table does not find what it has put itself: what dead processes left stays for good.',
  },
  {
    name: 'dynamodb-runs-again-by-shared-time',
    file: 'stores/dynamodb/view.ts',
    find: 'return back === null ? 0 : watch.see(back);',
    put: "if (back === null) return record?.state === 'retryable' ? Math.max(0, record.lockedUntil - now) : 0;\n    return watch.see(back);",
    tests: ['stores/dynamodb.test.ts'],
    only: 'whose clock is behind',
    breaks: 'What was settled so that it runs again is said to be in progress, and nobody works on it.',
  },
];
