/** A page that pays by the hook, in StrictMode, bundled for the browser by its test. */

import * as React from 'react';
import { createRoot } from 'react-dom/client';
import { createClient, indexedDbPending } from '@samekey/client';
import { createUseOnce } from '@samekey/client/react';

const client = createClient({
  pending: indexedDbPending(),
  retry: { baseMs: 20, capMs: 200, triesMax: 20 },
});
const useOnce = createUseOnce(React);
const h = React.createElement;

function Pay() {
  const [renders, render] = React.useState(0);
  const { run, isRunning, result, startNew } = useOnce(client, 'pay-invoice-42');
  const pay = () => void run('/pay', { body: JSON.stringify({ invoice: 42 }) });
  return h(
    'div',
    { 'data-renders': renders },
    h('button', { id: 'pay', onClick: pay }, 'Pay'),
    h('button', { id: 'render', onClick: () => render((count) => count + 1) }, 'Render'),
    h('button', { id: 'again', onClick: () => void startNew() }, 'Again'),
    h('output', { id: 'state' }, isRunning ? 'running' : (result?.kind ?? 'idle')),
  );
}

createRoot(document.getElementById('root')).render(h(React.StrictMode, null, h(Pay)));
