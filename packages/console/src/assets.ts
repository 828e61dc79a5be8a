/** The page and its files. The script is bundled when the package is made (tools/build-console.mjs). */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { answer } from './guarded-answers.ts';
import { ConsoleFault } from './fault.ts';

/** Beside the sources and beside what is built of them alike. */
const SCRIPT = new URL('../dist/page/console.js', import.meta.url);

/** All addresses are relative: the page does not know where it is mounted. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <title>Samekey console</title>
    <link rel="icon" href="icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="console.css">
    <script type="module" src="console.js"></script>
  </head>
  <body>
    <samekey-console></samekey-console>
    <noscript>The console needs JavaScript. The command samekey does the same in a terminal.</noscript>
  </body>
</html>
`;

const STYLE = `body { margin: 0; background: light-dark(#f7f6f3, #14161a); color: light-dark(#1d1f23, #eceae5); }
noscript { display: block; padding: 2rem; font: 1rem/1.5 system-ui, sans-serif; }
`;

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3b47b8"/><path d="M4 6h8M4 10h8" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>';

interface Asset {
  readonly type: string;
  readonly tag: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly packed: Uint8Array<ArrayBuffer>;
}

const compress = promisify(gzip);
let assets: Promise<ReadonlyMap<string, Asset>> | undefined;

/** The file of this name; null where there is none. Throws `ConsoleFault` where the page was not built. */
export async function asset(name: string, request: Request): Promise<Response | null> {
  assets ??= readAssets();
  // Built later, it is found later.
  assets.catch(() => {
    assets = undefined;
  });
  const found = (await assets).get(name);
  if (found === undefined) return null;
  const headers = { 'Cache-Control': 'no-cache', ETag: found.tag, Vary: 'Accept-Encoding' };
  if (request.headers.get('if-none-match') === found.tag) return answer(304, null, headers);
  const isPacked = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  return answer(200, isPacked ? found.packed : found.plain, {
    ...headers,
    'Content-Type': found.type,
    ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
  });
}

async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const files: readonly (readonly [string, string, string])[] = [
    ['', 'text/html', PAGE],
    ['console.css', 'text/css', STYLE],
    ['icon.svg', 'image/svg+xml', ICON],
    ['console.js', 'text/javascript', await readScript()],
  ];
  return new Map(
    await Promise.all(files.map(async ([name, type, text]) => [name, await assetOf(type, text)] as const)),
  );
}

async function assetOf(type: string, text: string): Promise<Asset> {
  return {
    type: `${type}; charset=utf-8`,
    tag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    plain: new Uint8Array(Buffer.from(text)),
    packed: new Uint8Array(await compress(text)),
  };
}

async function readScript(): Promise<string> {
  try {
    return await readFile(SCRIPT, 'utf8');
  } catch {
    throw new ConsoleFault(
      500,
      'not-built',
      'The console’s page was not built: run node tools/build-console.mjs in the repository.',
    );
  }
}
