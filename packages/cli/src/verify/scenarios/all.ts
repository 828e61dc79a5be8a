/** All scenarios, in the order in which they are asked and told. The store is taken away last. */

import type { Scenario } from '../scenario.ts';
import { rotatedCredential, twoTenants } from './callers.ts';
import { errorDocuments, specification } from './documents.ts';
import { otherMethod, otherPath, otherQuery } from './elsewhere.ts';
import { expiry } from './expiry.ts';
import { getUntouched } from './get-untouched.ts';
import { finalRefusal, serverError } from './handler-errors.ts';
import { hangUp } from './hang-up.ts';
import { keyCase, keyLong, keySpaces } from './key-exact.ts';
import { keyForms, keyMalformed, keyQuoted, keyTwice } from './key-forms.ts';
import { keyEmpty, keyMissing } from './key-missing.ts';
import { manyKeys } from './many-keys.ts';
import { otherBody, otherBodyChangesNothing, otherBodyStatus } from './other-request.ts';
import { raceMany, raceOtherBody, racePair, raceStatus } from './race.ts';
import { replayMarker } from './replay-marker.ts';
import { retryAfter } from './retry-after.ts';
import { runsOnce } from './runs-once.ts';
import { sameAnswer } from './same-answer.ts';
import { sameHeaders } from './same-headers.ts';
import { exactNumbers, reorderedJson } from './same-request.ts';
import { storeDown } from './store-down.ts';
import { twoKeys } from './two-keys.ts';

export const SCENARIOS: readonly Scenario[] = [
  runsOnce,
  twoKeys,
  sameAnswer,
  sameHeaders,
  replayMarker,
  manyKeys,
  racePair,
  raceMany,
  raceStatus,
  raceOtherBody,
  retryAfter,
  hangUp,
  twoTenants,
  rotatedCredential,
  otherBody,
  otherBodyStatus,
  otherBodyChangesNothing,
  otherQuery,
  otherPath,
  otherMethod,
  reorderedJson,
  exactNumbers,
  keyMissing,
  keyEmpty,
  keyCase,
  keySpaces,
  keyLong,
  keyQuoted,
  keyForms,
  keyMalformed,
  keyTwice,
  finalRefusal,
  serverError,
  expiry,
  getUntouched,
  errorDocuments,
  specification,
  storeDown,
];
