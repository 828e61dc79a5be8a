/** A page that pays by the hook, in StrictMode, bundled for the browser by its test. */

import * as React from 'react';
import { createRoot } from 'react-dom/client';
import { createClient } from '@samekey/client';
import { indexedDbPending } from '@samekey/client/browser';
import { createUseOnce } from '@samekey/client/react';

const client = createClient({
  subject: 'alice',
  pending: indexedDbPending(),
  baseMs: 20,
  capMs: 200,
  triesMax: 20,
  onEvent(event) {
    if (event.type === 'key-made') document.body.dataset.made = 'true';
    if (event.type === 'settled') document.body.dataset.settled = event.outcome;
  },
});
const useOnce = createUseOnce(React);
const h = React.createElement;

function Pay() {
  const [renders, render] = React.useState(0);
  const [invoice, choose] = React.useState('42');
  const once = useOnce(client, `pay-invoice-${invoice}`);
  const { status, result, open } = once;
  const pay = () => void once.run('/pay', { body: JSON.stringify({ invoice }) });
  return h(
    'div',
    { 'data-renders': renders },
    h('button', { id: 'pay', onClick: pay }, 'Pay'),
    h('button', { id: 'render', onClick: () => render((count) => count + 1) }, 'Render'),
    h('button', { id: 'next', onClick: () => choose('43') }, 'Next invoice'),
    h('button', { id: 'back', onClick: () => choose('42') }, 'Last invoice'),
    h('button', { id: 'go-on', onClick: () => void once.goOn() }, 'Go on'),
    h('button', { id: 'cancel', onClick: () => void once.cancel() }, 'Cancel'),
    h('button', { id: 'discard', onClick: () => void once.discard({ consented: true }) }, 'Discard'),
    h('button', { id: 'again', onClick: () => void once.again() }, 'Again'),
    h('output', { id: 'invoice' }, invoice),
    h('output', { id: 'state' }, status),
    h('output', { id: 'why' }, result?.why ?? (open === null ? '' : open.wasSent ? 'sent' : 'new')),
    h('output', { id: 'next-step' }, result?.next ?? ''),
  );
}

createRoot(document.getElementById('root')).render(h(React.StrictMode, null, h(Pay)));
