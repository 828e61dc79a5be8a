/**
 * Mutations of a router of tRPC, each as POST to its path. Source: @trpc/server 11.25
 * unstable-core-do-not-import/{router,procedureBuilder}.ts.
 */

import { judge, type Routes } from './listed-route.ts';

interface TrpcRouter {
  readonly _def: {
    readonly procedures: Readonly<Record<string, { readonly _def: Procedure }>>;
    readonly lazy?: Readonly<Record<string, unknown>>;
  };
}

interface Procedure {
  readonly type?: string;
  /** The last of them calls the resolver. */
  readonly middlewares?: readonly unknown[];
  readonly resolver?: unknown;
}

/** Whether it is a router of tRPC. */
export function isTrpc(app: unknown): app is TrpcRouter {
  const { _def: definition } = (app ?? {}) as { readonly _def?: { readonly router?: unknown } };
  return definition?.router === true && 'procedures' in definition;
}

/** Lists them. */
export function trpcRoutes({ _def: { procedures, lazy = {} } }: TrpcRouter): Routes {
  const mutations = Object.entries(procedures).filter(([, { _def }]) => _def.type === 'mutation');
  return {
    routes: mutations.map(([path, { _def: procedure }]) => {
      const { middlewares = [], resolver } = procedure;
      return judge('POST', `/${path}`, [...middlewares.slice(0, -1), resolver]);
    }),
    unseen: Object.keys(lazy).map((where) => ({
      where,
      why: 'Its router is loaded lazily: pass that router by itself.',
    })),
  };
}
