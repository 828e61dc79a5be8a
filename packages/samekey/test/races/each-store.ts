/** The same tests over each store that this machine has. */

import { afterAll, beforeAll, describe } from 'vitest';
import { type Cluster, type ClusterOptions, startCluster } from '../processes/api-cluster.ts';
import type { Backend, BackendOptions } from '../processes/backends/backend.ts';
import { availableBackends, type BackendName } from '../processes/backends/index.ts';

/** Starts processes on the store under test. */
export type ClusterOf = (options: Omit<ClusterOptions, 'backend'>) => Promise<Cluster>;

const kinds = await availableBackends();

/** How the store under test is started, and stores that would only repeat what another one shows. */
export interface EachStoreOptions extends BackendOptions {
  readonly but?: readonly BackendName[];
}

/** Describes tests once per store; its server runs for all of them. */
export function onEachStore(
  title: string,
  tests: (clusterOf: ClusterOf, store: string) => void,
  { but = [], ...options }: EachStoreOptions = {},
): void {
  for (const kind of kinds.filter(({ name }) => !but.some((other) => other === name))) {
    describe(`${title}: ${kind.name}`, () => {
      let backend: Backend;
      beforeAll(async () => {
        backend = await kind.start(options);
      });
      afterAll(() => backend.close());
      tests((cluster) => startCluster({ ...cluster, backend }), kind.name);
    });
  }
}
