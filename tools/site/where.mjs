/** Where the pages are served: the one setting is `DOCS_URL` of packages/samekey/src/core/errors.ts, from which errors and problem documents link. */
import { readText } from '../lib/files.mjs';
import { ROOT } from '../lib/report.mjs';

const SOURCE = 'packages/samekey/src/core/errors.ts';

/** Without a slash at its end. */
export const DOCS_URL = /DOCS_URL = '([^']+)'/.exec(readText(ROOT, SOURCE))?.[1] ?? '';

/**
 * Whether somebody serves pages there. A name that ends in `.example` is nobody's, and will be nobody's (RFC 2606 §3).
 * @param {string} url
 */
export function isOurs(url) {
  return !new URL(url).hostname.endsWith('.example');
}
