/** Whether a service is well, for a load balancer or an orchestrator: it runs, and its store answers. */

import type { Store } from 'samekey';

/** What `/health` says. */
export interface Health {
  readonly status: 'ok' | 'stopping' | 'store-error';
  readonly service: string;
  readonly uptimeS: number;
}

/** A store that takes longer is as good as down for who asks. */
const ANSWER_TIME_MAX_MS = 3_000;
/** Who asks often is told what was seen a moment ago. */
const FRESH_MS = 1_000;
/** No record has it: scopes of applications are not empty. */
const NOBODY = { scope: 'samekey-health', key: '-' };

/** Makes what answers. */
export function createHealth(
  service: string,
  store: Store,
  isStopping: () => boolean,
): () => Promise<Health> {
  const startedAt = performance.now();
  let seen: { readonly at: number; readonly isUp: Promise<boolean> } | null = null;

  function look(): Promise<boolean> {
    const at = performance.now();
    if (seen === null || at - seen.at > FRESH_MS) seen = { at, isUp: answers(store) };
    return seen.isUp;
  }

  return async () => {
    const uptimeS = Math.round((performance.now() - startedAt) / 1_000);
    if (isStopping()) return { status: 'stopping', service, uptimeS };
    return { status: (await look()) ? 'ok' : 'store-error', service, uptimeS };
  };
}

async function answers(store: Store): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_TIME_MAX_MS);
  });
  const asked = store.find([NOBODY]).then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
