/** What `coverage` says of routes that speak a dialect. */

/** Where the provider runs again after a 5xx. */
export const UNDONE_OR_UNKNOWN: string =
  'By its dialect a 5xx runs again; here only where its work is proven to be undone, and after any other the outcome is unknown: serve a transactional or phased operation, or say attempt.notExecuted().';
