/** What the browser is shown: a page that pays by `@samekey/client`, bundled as an application would bundle it. */

import { createRequire } from 'node:module';
import { rolldown, type RolldownPlugin } from 'rolldown';
import type { Page } from './client-shop.ts';

/** The page; its query names the pending store. Results are added to `#results`, one an element, with what came of it. */
const PAGE = `<!doctype html>
<title>shop</title>
<button id="pay">Pay</button>
<ol id="results"></ol>
<ol id="events"></ol>
<script type="module">
  import { createClient, indexedDbPending, localStoragePending } from '/client.js';
  const add = (list, text) => {
    const item = document.createElement('li');
    item.textContent = text;
    document.querySelector(list).append(item);
  };
  const client = createClient({
    subject: 'alice',
    pending: location.search === '?local' ? localStoragePending() : indexedDbPending(),
    baseMs: 20, capMs: 200, triesMax: 20,
    onEvent: (event) => add('#events', event.type + ' ' + (event.because ?? '')),
  });
  document.querySelector('#pay').addEventListener('click', async () => {
    const result = await client.operation('pay-invoice-42').fetch('/pay', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ invoice: 42 }),
    });
    add('#results', result.outcome);
  });
  for (const left of await client.resume()) {
    document.body.dataset.left = left.wasSent ? 'sent' : 'new';
    const ask = document.createElement('button');
    ask.id = 'go-on';
    ask.textContent = 'Go on';
    ask.onclick = async () => add('#results', 'resumed ' + (await left.goOn())?.outcome);
    document.body.append(ask);
  }
  document.body.dataset.ready = 'true';
</script>
`;

/** The pages by path. */
export async function shopPages(): Promise<Readonly<Record<string, Page>>> {
  const { resolve } = createRequire(import.meta.url);
  const entries = ['@samekey/client', '@samekey/client/browser', '@samekey/client/memory'].map((name) =>
    resolve(name),
  );
  const text = await bundled(entries.map((entry) => `export * from ${JSON.stringify(entry)};`).join('\n'));
  return {
    '/': { type: 'html', text: PAGE },
    '/receipt': { type: 'html', text: '<!doctype html><title>receipt</title>Thank you.' },
    '/client.js': { type: 'text/javascript', text },
  };
}

/** The modules that a text imports, and itself, as one. */
export async function bundled(text: string, plugins: readonly RolldownPlugin[] = []): Promise<string> {
  const bundle = await rolldown({
    input: 'all',
    platform: 'browser',
    logLevel: 'silent',
    resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
    plugins: [
      ...plugins,
      {
        name: 'all',
        resolveId: (id) => (id === 'all' ? id : null),
        load: (id) => (id === 'all' ? text : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  return output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('\n');
}
