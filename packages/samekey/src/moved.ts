/**
 * What the entries lead to that are packages of their own now: an import of one fails with what to import instead,
 * where a resolver would only say that there is nothing. The names are given because an import of a name that a module
 * lacks fails before the module runs.
 */

import { SamekeyError } from './core/errors.ts';

const moved: never = refuse();

export {
  // samekey/client, samekey/client/*
  moved as createClient,
  moved as indexedDbPending,
  moved as uuidV4,
  moved as uuidV7,
  moved as localStoragePending,
  moved as memoryPending,
  moved as derivedKey,
  moved as filePending,
  moved as UnsettledError,
  moved as asFetch,
  moved as axiosOnce,
  moved as kyOnce,
  moved as createUseOnce,
  moved as gotOnce,
  // samekey/testing
  moved as adapterContract,
  moved as createAuditor,
  moved as faultOf,
  moved as AS_EVER,
  moved as DEPLOY_STATES,
  moved as deployContract,
  moved as engineContract,
  moved as FAKE_WALL_START,
  moved as fakeWorld,
  moved as faultyStore,
  moved as passageOf,
  moved as createGate,
  moved as gatedStore,
  moved as identityContract,
  moved as kthContract,
  moved as outboxContract,
  moved as createRandom,
  moved as simulate,
  moved as describeFailure,
  moved as sealedContract,
  moved as sessionsContract,
  moved as storeContract,
  moved as createTimeline,
  moved as turn,
  moved as txContract,
  // samekey/verify
  moved as VerifyError,
  moved as summary,
  moved as tally,
  moved as verifyTests,
  moved as verifyBadge,
  moved as verifyMarkdown,
  moved as verifyText,
  moved as scenarioNames,
  moved as verify,
};

function refuse(): never {
  throw new SamekeyError(
    'ERR_SAMEKEY_MOVED',
    'This entry of "samekey" is a package of its own now. Import "@samekey/client" for "samekey/client" (and /keys, /node, ' +
      '/fetch, /axios, /ky, /got and /react of the one for those of the other), "@samekey/cli/verify" for "samekey/verify", ' +
      '"@samekey/testing" for "samekey/testing"; and install that package.',
  );
}
