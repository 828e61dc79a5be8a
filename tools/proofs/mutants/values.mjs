/** What passes the gates: values and header lines that are stored or compared, copies that are kept, names of operations, and schemas. */

const ENGINES = ['engine/memory.test.ts'];
const VALUES = 'memory values ';
const HEADERS = ['http/headers.test.ts'];
const COMPARED = ['ways/values.test.ts'];
const FETCH = ['adapters/fetch.test.ts'];
const VALIDATION = 'contract: validation ';

/** @type {import('./mutant.mjs').Mutant[]} */
export const values = [
  {
    name: 'value-contents-lost',
    file: 'fingerprint/json-value.ts',
    find: 'if (ArrayBuffer.isView(value) || OPAQUE.has(kind)) return notJson(article(kind));',
    put: '',
    tests: ENGINES,
    only: VALUES,
    breaks: 'An answer with a Map or bytes in it is stored as one that holds an empty object.',
  },
  {
    name: 'value-no-number-is-null',
    file: 'fingerprint/json-value.ts',
    find: 'return Number.isFinite(value) ? null : notJson(',
    put: 'return value !== 0.5 ? null : notJson(',
    tests: COMPARED,
    breaks: 'An amount that is NaN is handed on as null.',
  },
  {
    name: 'value-instance-compared-by-members',
    file: 'fingerprint/json-value.ts',
    find: 'if (plainOnly) return notJson(`an instance of ${nameOf(value, kind)}`);',
    put: '',
    tests: COMPARED,
    breaks: 'Two inputs that differ in what a class keeps to itself are one request.',
  },
  {
    name: 'value-absent-element-is-null',
    file: 'fingerprint/json-value.ts',
    find: "value === undefined && gate.plainOnly ? notJson('an absent element') : look(value, i, gate, above);",
    put: 'look(value, i, gate, above);',
    tests: COMPARED,
    breaks: 'A list with a hole and one with null in its place are one request.',
  },
  {
    name: 'stored-lines-of-one-request',
    file: 'core/stored-response.ts',
    find: 'if (isMadeAnew(lower, nominated) || OF_ONE_REQUEST.has(lower)) return false;',
    put: 'if (isMadeAnew(lower, nominated)) return false;',
    tests: HEADERS,
    breaks: 'A retry is answered under the request id of the first, and as one that was not replayed.',
  },
  {
    name: 'stored-trailers-as-they-came',
    file: 'core/stored-response.ts',
    find: 'trailers?.filter(keep) ?? NONE_LEFT',
    put: 'trailers ?? NONE_LEFT',
    tests: HEADERS,
    breaks: 'The session of one caller is given to whoever retries, as a trailer.',
  },
  {
    name: 'stored-by-hand-as-it-came',
    file: 'core/stored-response.ts',
    find: 'return storable(answer, false);',
    put: 'return answer as StorableResponse;',
    tests: ['ways/served-answers.test.ts'],
    breaks:
      'What an operator or a provider gives as an answer brings the lines of its own connection to every retry.',
  },
  {
    name: 'kept-beyond-its-budget',
    file: 'engine/kept-bytes.ts',
    find: 'if (used + bytes > mostBytes) return false;',
    put: 'if (used > mostBytes) return false;',
    tests: FETCH,
    only: 'share keptBytesMax',
    breaks: 'Many readers of large streams fill the memory of a process.',
  },
  {
    name: 'kept-room-never-given-back',
    file: 'engine/kept-bytes.ts',
    find: 'used -= bytes;',
    put: 'used -= 0 * bytes;',
    tests: FETCH,
    only: 'share keptBytesMax',
    breaks: 'After some streams no further one is kept, and its retries get no answer.',
  },
  {
    name: 'kept-in-the-memory-of-its-source',
    file: 'http/kept-copy.ts',
    find: 'this.#chunks.push(Uint8Array.from(bytes));',
    put: 'this.#chunks.push(bytes);',
    tests: ['http-node/capture-stream.test.ts'],
    breaks: 'A source that uses its memory again changes the answer that is replayed.',
  },
  {
    name: 'operation-by-letter-case',
    file: 'core/operation.ts',
    find: 'name.replace(/ .*$/s, (pattern) => pattern.toLowerCase()) : name;',
    put: 'name : name;',
    tests: ['adapters/express5.test.ts'],
    only: 'operation identity ',
    breaks: 'A client that spells the path in another letter case runs the operation a second time.',
  },
  {
    name: 'operation-parameters-not-compared',
    file: 'core/operation.ts',
    find: "if (segment.includes(':')) out += text;",
    put: "if (segment.includes(':')) out += segment;",
    tests: ['adapters/express5.test.ts'],
    only: 'operation identity ',
    breaks: 'A request for one account gets the answer of another.',
  },
  {
    name: 'validation-after-the-claim',
    file: 'http/handle.ts',
    find: "if ('issues' in checked) return { ...own, invalid: checked.issues };",
    put: '',
    tests: FETCH,
    only: VALIDATION,
    breaks: 'Input that its schema refuses runs, and binds the key to itself.',
  },
  {
    name: 'validation-before-the-record',
    file: 'engine/engine.ts',
    find: "(await this.#standingInvalid(work)) ?? { kind: 'request-invalid', issues };",
    put: "await Promise.resolve({ kind: 'request-invalid', issues } as const);",
    tests: FETCH,
    only: VALIDATION,
    breaks: 'A deploy with a stricter schema turns the replay of what was done into a refusal.',
  },
  {
    name: 'validation-of-another-body',
    file: 'engine/standing.ts',
    find: 'if (other !== null) return other;',
    put: '',
    tests: FETCH,
    only: VALIDATION,
    breaks: 'Invalid input under a key that is used gets the answer of another request.',
  },
];
