/** Versions that several stories have. */

import type { Variant } from './story.ts';

/** Nothing around the handler. */
export const UNPROTECTED: Variant = {
  id: 'no-protection',
  title: 'No protection',
  says: 'The API runs the handler for every request. A key, if one is sent, is not looked at.',
  breaks: { harm: 'paid-twice', share: 1 },
  code: `app.post('/payments', async (req, res) => {
  const charge = await provider.charge(req.body);
  res.status(201).json(charge);
});`,
};

/** Look first, remember afterwards. */
export const NO_CLAIM: Variant = {
  id: 'no-claim',
  title: 'No claim',
  says: 'The API looks whether it knows the key, does the work, and remembers the key afterwards. Between looking and remembering, anybody may pass.',
  breaks: { harm: 'paid-twice', share: 1 },
  code: `const known = await db.find(key);
if (known) return res.json(known.answer);
const charge = await provider.charge(req.body);
await db.insert(key, charge);
res.status(201).json(charge);`,
};

/** Samekey as it is. */
export const SAMEKEY: Variant = {
  id: 'samekey',
  title: 'Samekey',
  says: 'The API claims the key before the handler runs, and keeps the answer in the same row.',
  breaks: null,
  code: `app.post('/payments',
  idempotent(samekey, { policy: 'payments', scope }),
  async (req, res) => {
    const charge = await provider.charge(req.body);
    res.status(201).json(charge);
  });`,
};
