/** What the fuzz of the doors has found, and what it must find. */

/** @type {import('./mutant.mjs').Mutant[]} */
export const fuzz = [
  {
    name: 'fuzz-flushed-head-recorded-as-latin1',
    file: 'http-node/captured-answer.ts',
    find: "const utf8 = c.leavesWith === 'a flush' || c.leavesWith === 'text';",
    put: "const utf8 = c.leavesWith === 'text';",
    tests: ['fuzz/fuzz.test.ts'],
    only: 'node keeps the fuzz',
    breaks: 'A retry gets other octets than the first client, where a head outside of ASCII was flushed.',
  },
  {
    name: 'fuzz-streamed-head-flushed',
    file: 'http-node/captured-answer.ts',
    find: "if (c.leavesWith === 'a flush') c.original.flushHeaders.call(c.res);",
    put: 'if (c.leavesWith !== undefined) c.original.flushHeaders.call(c.res);',
    tests: ['fuzz/fuzz.test.ts'],
    only: 'node keeps the fuzz',
    breaks: 'Headers outside of ASCII leave in another encoding where an answer streams.',
  },
  {
    name: 'fuzz-trailers-not-gated',
    file: 'core/stored-response.ts',
    find: 'const keptTrailers = trailers?.filter(keep) ?? NONE_LEFT;',
    put: 'const keptTrailers = trailers ?? NONE_LEFT;',
    tests: ['fuzz/fuzz.test.ts'],
    only: 'node keeps the fuzz',
    breaks: 'What belongs to one request is replayed in trailers.',
  },
  {
    name: 'fuzz-nominated-header-stored',
    file: 'core/stored-response.ts',
    find: "|| lower.startsWith('proxy-') || nominated.includes(lower);",
    put: "|| lower.startsWith('proxy-') || nominated.includes(`${lower}.`);",
    tests: ['fuzz/fuzz.test.ts'],
    only: 'node keeps the fuzz',
    breaks: 'What Connection says belongs to one connection is replayed on others.',
  },
  {
    name: 'fuzz-no-body-becomes-an-empty-one',
    file: 'http-fetch/fetch-exchange.ts',
    find: 'const bytes = body.isNone ? null : body.bytes;',
    put: 'const { bytes } = body;',
    tests: ['fuzz/fuzz.test.ts'],
    only: 'hono keeps the fuzz',
    breaks: 'A server gives a type to an answer that has no body.',
  },
  {
    name: 'fuzz-refused-release-hangs',
    file: 'http-node/capture.ts',
    find: 'c.res.destroy();\n      throw error;',
    put: 'throw error;',
    tests: ['http-node/capture-release.test.ts'],
    only: 'refuses at its release',
    breaks: 'A client waits for ever for an answer that Node has refused when it was let go.',
  },
];
