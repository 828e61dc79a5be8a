/** The memory store: what it does around the state table. Other stores are compared with it, so its own faults would hide theirs. */

const CONTRACT = ['stores/memory.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const memory = [
  {
    name: 'references-left-by-erase-in-memory',
    file: 'stores/memory/memory-store.ts',
    find: 'if (after === null || isErased(after)) referring.remove(id);',
    put: 'if (after === null) referring.remove(id);',
    tests: CONTRACT,
    only: 'references',
    breaks: 'What a provider calls a payment outlives the erasure of its caller.',
  },
  {
    name: 'references-to-another-life-in-memory',
    file: 'stores/memory/memory-references.ts',
    find: 'record.createdAt !== createdAt || ',
    put: '',
    tests: CONTRACT,
    only: 'references',
    breaks: 'A webhook about yesterday’s payment settles that of today.',
  },
  {
    name: 'memory-one-record-too-many',
    file: 'stores/memory/memory-store.ts',
    find: 'return records.size >= recordsMax || bytes >= bytesMax;',
    put: 'return records.size > recordsMax || bytes >= bytesMax;',
    tests: CONTRACT,
    breaks: 'It keeps one record more than it was told to.',
  },
  {
    name: 'memory-full-of-bytes',
    file: 'stores/memory/memory-store.ts',
    find: 'return records.size >= recordsMax || bytes >= bytesMax;',
    put: 'return records.size >= recordsMax;',
    tests: CONTRACT,
    breaks: 'Answers fill the memory of the process whatever its limit.',
  },
  {
    name: 'memory-reaps-the-living',
    file: 'stores/memory/memory-store.ts',
    find: 'if (!isPurgeable(record, time)) continue;',
    put: '',
    tests: CONTRACT,
    breaks: 'The reaper deletes claims and answers that are still to be replayed.',
  },
  {
    name: 'memory-act-without-audit',
    file: 'stores/memory/memory-store.ts',
    find: 'if (before !== null && before !== after) audit.add([handRow(act, before, after, request)], now());',
    put: '',
    tests: CONTRACT,
    breaks: 'An act by hand leaves no row in the audit.',
  },
  {
    name: 'memory-erases-one-too-many',
    file: 'stores/memory/memory-store.ts',
    find: 'if (!after || erased >= request.limit) left += 1;',
    put: 'if (!after || erased > request.limit) left += 1;',
    tests: CONTRACT,
    breaks: 'An erasing does more than its limit.',
  },
  {
    name: 'memory-another-callers-records',
    file: 'stores/memory/memory-store.ts',
    find: 'if (callerOf(record.scope) !== request.scope) continue;',
    put: '',
    tests: CONTRACT,
    breaks: 'Erasing one caller empties the records of all.',
  },
  {
    name: 'memory-unknown-in-any-order',
    file: 'stores/memory/memory-store.ts',
    find: '.toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0))',
    put: '.toSorted((a, b) => (b.reconcileAfter ?? 0) - (a.reconcileAfter ?? 0))',
    tests: CONTRACT,
    breaks: 'What has waited longest for a reconciler waits for ever behind what is new.',
  },
  {
    name: 'memory-sweep-without-end',
    file: 'stores/memory/memory-store.ts',
    find: 'if (swept.length >= most) break;',
    put: '',
    tests: CONTRACT,
    breaks: 'One sweep does more than it was asked for.',
  },
];
