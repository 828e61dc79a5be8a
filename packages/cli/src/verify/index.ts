/** `@samekey/cli/verify`: judges any HTTP service as a black box; from the command line `samekey verify`. */

export type { Count } from './counting.ts';
export { VerifyError } from './error.ts';
export type { ProfileName } from './expectations.ts';
export type { Body, Headers, Hold, VerifyOptions } from './options.ts';
export { type Finding, summary, tally, type VerifyReport } from './findings.ts';
export type { Level } from './judgement.ts';
export { type TestRunner, verifyTests } from './tests.ts';
export { type Badge, verifyBadge, verifyMarkdown, verifyText } from './text.ts';
export { scenarioNames, verify } from './verify.ts';
