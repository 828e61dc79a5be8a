/** The page at `/`: what this is, and what to try. */

import type { Try } from './tries.ts';

/** The page, in HTML. */
export function page(things: readonly Try[]): string {
  const items = things.map(
    ({ title, see, command }) => `<li>${text(title)}: ${text(see)}.<pre>${text(command)}</pre></li>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Samekey demo</title>
<style>body { font: 1rem/1.5 system-ui; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
pre { background: #f2f2f2; padding: .5rem; overflow-x: auto }</style>
<h1>Samekey demo: payments that may be retried</h1>
<p>A payments API in which a request may be sent any number of times under one <code>Idempotency-Key</code>, and is
charged once, by a payment provider that is a process of its own and may fail as real ones do. An order is noted and charged by a worker. See <a href="/payments">the payments</a> and <a href="/ledger">the ledger</a>.</p>
<ol>
${items.join('\n')}
</ol>
<p>Without an <code>Authorization</code> header you are the tenant <code>demo</code>; with
<code>Authorization: Bearer tenant-b</code> you are another one, whose keys are its own.</p>
<p>A payment that cannot be made (try <code>"amountCents": 0</code>) is refused before anything happens, so it may be corrected
under the same key.</p>
</html>
`;
}

function text(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
