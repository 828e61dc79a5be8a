/**
 * A Citus cluster that somebody else runs, by the URL of its coordinator. It comes neither from npm nor from Debian, so it is the one
 * service that `SAMEKEY_TEST_REQUIRE=all` does not ask for; docs/guides/distributed-postgresql.md says when it was last run, and on what.
 */

import { tellLacking } from './lacking.ts';

/** The URL of a database with the extension in it; undefined, loudly, where there is none. */
export function citusUrl(): string | undefined {
  const url = process.env['SAMEKEY_TEST_CITUS_URL'];
  if (url === undefined)
    tellLacking(
      'SKIPPED: tests on Citus, which no package installs. Set SAMEKEY_TEST_CITUS_URL to run them.',
    );
  return url;
}
