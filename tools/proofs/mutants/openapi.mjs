/** What clients are told of keys: documents and pages. */

const PARTS = ['openapi/operation-part.test.ts'];
const MERGE = ['openapi/merge.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const openapi = [
  {
    name: 'openapi-author-overwritten',
    file: 'openapi/merge.ts',
    find: 'if (content[type] === undefined) content[type] = media;',
    put: 'if (content[type] !== null) content[type] = media;',
    tests: MERGE,
    breaks: 'What the author has written of an answer is gone from the document, in silence.',
  },
  {
    name: 'openapi-shared-in-memory',
    file: 'openapi/merge.ts',
    find: 'JSON.parse(JSON.stringify(document)) as',
    put: 'structuredClone(document) as',
    tests: MERGE,
    breaks: 'An operation that shares an object with a protected one is documented as protected too.',
  },
  {
    name: 'openapi-conflict-untold',
    file: 'openapi/merge.ts',
    find: "if ((found['required'] === true) !== part.required)",
    put: "if (found['required'] === undefined && part.required)",
    tests: MERGE,
    breaks:
      'A document says that the key is optional, the server refuses requests without one, and nobody is told.',
  },
  {
    name: 'openapi-equal-names-of-other-answers',
    file: 'openapi/merge.ts',
    find: 'else if (JSON.stringify(there) !== text) continue;',
    put: 'else if (typeof there !== typeof text && text === "") continue;',
    tests: MERGE,
    breaks: 'Routes of another profile are documented with the answers of the first one.',
  },
  {
    name: 'openapi-varying-value-as-constant',
    file: 'openapi/inferred.ts',
    find: 'const isSame = pairs.every(([a, b]) => a === b);',
    put: 'const isSame = pairs.length > 0;',
    tests: PARTS,
    breaks:
      'A value of one answer is documented as the only one, and a client that goes by it refuses the others.',
  },
  {
    name: 'openapi-optional-as-required',
    file: 'openapi/inferred.ts',
    find: 'names.filter((name) => all.every((each) => each[name] !== undefined))',
    put: 'names.filter((name) => all.some((each) => each[name] !== undefined))',
    tests: PARTS,
    breaks: 'A member that only some answers have is documented as one of all.',
  },
  {
    name: 'openapi-quotes-forgotten',
    file: 'openapi/key-schema.ts',
    find: 'maxLength: longest + 2,',
    put: 'maxLength: longest,',
    tests: ['openapi/key-schema.test.ts'],
    breaks: 'A gateway that goes by the document refuses keys in quotes, which the draft asks for.',
  },
  {
    name: 'openapi-own-header-not-asked',
    file: 'coverage/agreement.ts',
    find: 'openApiRoutes(document, headerOf(route) ?? header)',
    put: 'openApiRoutes(document, header)',
    tests: MERGE,
    breaks: 'The document names another header than the route takes keys from, and both are said to agree.',
  },
  {
    name: 'openapi-document-alone-unseen',
    file: 'coverage/agreement.ts',
    find: "if (protectedBy !== 'samekey' || !CHANGING.includes(method) || met.has(`${method} ${path}`)) continue;",
    put: "if (protectedBy !== 'samekey' || !CHANGING.includes(method) || path !== '') continue;",
    tests: MERGE,
    breaks: 'A document promises safe retries of a route that the application does not have.',
  },
  {
    name: 'openapi-cors-errors-unseen',
    file: 'http/cors.ts',
    find: 'return lines.map(([name]) => name)',
    put: 'return lines.slice(0, profile.replayHeaders.length).map(([name]) => name)',
    tests: ['openapi/operation-part.test.ts'],
    breaks: 'A browser client may not read the header by which the dialect says whether to send again.',
  },
  {
    name: 'openapi-cors-times-not-allowed',
    file: 'http/cors.ts',
    find: '...[freshness, firstSent].flatMap(',
    put: '...[freshness].flatMap(',
    tests: ['http/headers.test.ts'],
    breaks: 'A browser may not send the time without which its request is refused.',
  },
  {
    name: 'openapi-retention-rounded-up',
    file: 'openapi/advertised.ts',
    find: 'Math.floor(door.settings.retentionMs / 1_000)',
    put: 'Math.ceil(door.settings.retentionMs / 1_000)',
    tests: ['openapi/advertised.test.ts'],
    breaks: 'A client retries when its key is forgotten, because it was told so.',
  },
  {
    name: 'openapi-page-silent',
    file: 'openapi/published-page.ts',
    find: "door.required ? 'required'",
    put: "door.headerName !== '' ? 'required'",
    tests: ['openapi/published-page.test.ts'],
    breaks: 'The page says that a key is required where requests without one run.',
  },
];
