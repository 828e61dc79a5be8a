/** A worker with one protected operation, made while its module is loaded, as users make theirs. */

import { createSamekey } from '../../src/index.ts';
import { type FetchContext, idempotent } from '../../src/adapters/fetch/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
let runs = 0;

const pay = idempotent(samekey, { operation: 'pay', scope: () => 'acme' }, async (request) => {
  const { slowMs = 0 } = (await request.json()) as { readonly slowMs?: number };
  await new Promise((resolve) => void setTimeout(resolve, slowMs));
  return Response.json({ run: (runs += 1) }, { status: 201 });
});

export default {
  fetch: (request: Request, _env: unknown, context: FetchContext) => pay(request, context),
};
