/** Seals: what a stolen database must not say, and what a moved row must not be taken for. */

const SEALED = ['seal/sealed.test.ts'];
const SEALER = ['seal/sealer.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const seal = [
  {
    name: 'seal-of-any-record',
    file: 'seal/sealer.ts',
    find: 'return [part, scope, key];',
    put: 'return [part];',
    tests: SEALED,
    breaks: 'An answer that was moved to another key opens there.',
  },
  {
    name: 'seal-of-any-scope',
    file: 'seal/sealer.ts',
    find: 'return [part, scope, key];',
    put: 'return [part, key];',
    tests: SEALER,
    breaks: 'An answer that was moved to the same key of another tenant opens there.',
  },
  {
    name: 'seal-of-any-part',
    file: 'seal/sealer.ts',
    find: 'return [part, scope, key];',
    put: 'return [scope, key];',
    tests: SEALER,
    breaks: 'The input of a request that was put where its steps stand opens as steps.',
  },
  {
    name: 'seal-of-any-status',
    file: 'seal/sealer.ts',
    find: "return [...ofRecord('response', id), status, keptBody];",
    put: "return [...ofRecord('response', id), keptBody];",
    tests: SEALED,
    breaks: 'A status that was changed in the database is given out with the sealed answer.',
  },
  {
    name: 'seal-of-any-message',
    file: 'seal/sealer.ts',
    find: 'return [part, id, topic];',
    put: 'return [part];',
    tests: SEALER,
    breaks: 'A payload that was moved to another message is delivered with it.',
  },
  {
    name: 'seal-tag-not-checked',
    file: 'seal/ring.ts',
    find: 'decipher.final();\n',
    put: '\n',
    tests: SEALED,
    breaks: 'A bit that was turned in the database is given out.',
  },
  {
    name: 'seal-iv-repeated',
    file: 'seal/ring.ts',
    find: 'const iv = randomBytes(IV_BYTES);',
    put: 'const iv = Buffer.alloc(IV_BYTES);',
    tests: SEALER,
    breaks: 'Two seals under one IV tell what both hold.',
  },
  {
    name: 'seal-input-clear',
    file: 'seal/sealer.ts',
    find: "input: (id, input) => (input === null ? null : after(seal(input, ofRecord('input', id)), envelopeBytes)),",
    put: 'input: (_id, input) => input,',
    tests: SEALED,
    breaks: 'What clients sent stands clear in the database.',
  },
  {
    name: 'seal-broken-taken-for-clear',
    file: 'seal/sealer.ts',
    find: 'sealInBytes(response.body)) ?? NO_SEAL;',
    put: 'sealInBytes(response.body)) ?? null;',
    tests: SEALED,
    breaks: 'What somebody wrote over a sealed answer is given out as one.',
  },
  {
    name: 'seal-unreadable-taken-for-final',
    file: 'seal/sealed-store.ts',
    find: "return because === 'final' && record.unreadable !== undefined ? 'unreadable' : because;",
    put: 'return because;',
    tests: SEALED,
    breaks: 'An answer that cannot be opened is replayed as one without a body.',
  },
  {
    name: 'seal-begun-in-vain',
    file: 'seal/sealed-store.ts',
    find: 'remember(suspects, idText(request));',
    put: '',
    tests: SEALED,
    breaks: 'Each retry uses up an attempt of a record whose steps cannot be read.',
  },
];
