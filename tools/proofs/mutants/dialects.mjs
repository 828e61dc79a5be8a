/** Dialects: what they state, and what may stand beside them. */

const TESTS = ['dialects/dialects.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const dialects = [
  {
    name: 'dialects-option-wins',
    file: 'http/dialect.ts',
    find: 'else if (!LENGTHS.has(name) || !isLonger(given, value)) throw contradicts(dialect, name);',
    put: '',
    tests: TESTS,
    breaks: 'An option beside a dialect takes its place, and the route says Stripe and does something else.',
  },
  {
    name: 'dialects-kept-shorter',
    file: 'http/dialect.ts',
    find: "return typeof given === 'number' && given >= (stated as number);",
    put: "return typeof given === 'number' && stated !== undefined;",
    tests: TESTS,
    breaks: 'A key is forgotten before the day that the dialect promises, and its retry runs again.',
  },
  {
    name: 'dialects-key-replaced',
    file: 'http/dialect.ts',
    find: 'return { ...stated, ...given };',
    put: 'return given;',
    tests: TESTS,
    breaks: 'A member of `key` beside a dialect takes away the ones that the dialect states.',
  },
  {
    name: 'dialects-served-unasked',
    file: 'http/dialect.ts',
    find: 'return spoken(options, { ...dialect, operation: {} });',
    put: 'return { ...options, ...dialect.route };',
    tests: TESTS,
    breaks: 'At a served operation the dialect takes the place of what was said, in silence.',
  },
  {
    name: 'dialects-served-with-another-policy',
    file: 'http/dialect.ts',
    find: '([ending, verdict]) => b.verdicts[ending as EndingClass] === verdict,',
    put: '([ending]) => ending in b.verdicts,',
    tests: TESTS,
    breaks: 'A served operation speaks ACP and runs again after a 5xx that nobody has proven to be undone.',
  },
  {
    name: 'dialects-acp-runs-again-after-a-5xx',
    file: 'dialects/commerce.ts',
    find: "operation: { policy: 'payments', retentionMs: DAY_MS },",
    put: "operation: { policy: 'standard', retentionMs: DAY_MS },",
    tests: TESTS,
    breaks: 'The words of a protocol count more than the contract: what may have been done is done again.',
  },
  {
    name: 'dialects-adyen-forgets-the-account',
    file: 'dialects/payments.ts',
    find: "key: { lengthMax: 64 },\n    keyUniqueFor: 'caller',",
    put: "key: { lengthMax: 64 },\n    keyUniqueFor: 'operation',",
    tests: TESTS,
    breaks: 'A key of the company account runs a second time at another endpoint.',
  },
  {
    name: 'dialects-unsaid-code-of-all-faults',
    file: 'http/profiles/errors-by-data.ts',
    find: "spec.cases?.[code] ?? (outcome.kind === 'key-malformed'",
    put: "(outcome.kind === 'key-malformed'",
    tests: ['http/problems.test.ts'],
    breaks: 'What a provider says of a case is not told.',
  },
  {
    name: 'dialects-transient-for-good',
    file: 'http/profiles/errors-by-data.ts',
    find: 'if (spec.retryHeader !== undefined && problem.retryable)',
    put: 'if (spec.retryHeader !== undefined)',
    tests: ['http/problems.test.ts'],
    breaks: 'A request that can never succeed is said to be worth a retry.',
  },
];
