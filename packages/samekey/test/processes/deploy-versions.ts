/** The versions that rolling deploys replace by each other, and what is said to their processes. */

import type { FetchOptions } from 'samekey/fetch';

/** One version of the code. */
interface Version {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly options: FetchOptions;
}

const byUser: FetchOptions['scope'] = (request) => [request.headers.get('x-user') ?? ''];
const byTenant: FetchOptions['scope'] = (request) => ['acme', request.headers.get('x-user') ?? ''];

function named(options: Omit<FetchOptions, 'scope'> & Partial<Pick<FetchOptions, 'scope'>>): Version {
  return { method: 'POST', path: '/pay', options: { scope: byUser, ...options } };
}

/** By name. */
export const VERSIONS = {
  'name-before': named({ operation: 'pay' }),
  'name-bridged': named({ operation: 'charge', formerly: ['pay'] }),
  'name-after': named({ operation: 'charge' }),
  'name-again': named({ operation: 'bill', formerly: ['pay', 'charge'] }),
  'scope-before': named({ operation: 'pay' }),
  'scope-bridged': named({ operation: 'pay', scope: byTenant, formerly: [{ scope: byUser }] }),
  'scope-after': named({ operation: 'pay', scope: byTenant }),
  'path-before': { ...named({ operation: 'POST /v1/pay/:id' }), path: '/v1/pay/7' },
  'path-bridged': {
    ...named({ operation: 'PUT /v2/:id/pay', formerly: ['POST /v1/pay/:id'] }),
    method: 'PUT',
    path: '/v2/7/pay',
  },
  'path-after': { ...named({ operation: 'PUT /v2/:id/pay' }), method: 'PUT', path: '/v2/7/pay' },
  'caller-before': named({ operation: 'pay' }),
  'caller-bridged': named({ operation: 'pay', keyUniqueFor: 'caller', keyWasUniqueFor: 'operation' }),
  'caller-after': named({ operation: 'pay', keyUniqueFor: 'caller' }),
} satisfies Readonly<Record<string, Version>>;

/** The name of a version. */
export type VersionName = keyof typeof VERSIONS;

/** Which versions run side by side in a deploy. */
export const DEPLOYS: readonly (readonly [older: VersionName, younger: VersionName])[] = [
  ['name-before', 'name-bridged'],
  ['name-bridged', 'name-after'],
  ['name-bridged', 'name-again'],
  ['scope-before', 'scope-bridged'],
  ['scope-bridged', 'scope-after'],
  ['path-before', 'path-bridged'],
  ['path-bridged', 'path-after'],
  ['caller-before', 'caller-bridged'],
  ['caller-bridged', 'caller-after'],
];

/** How a process is started. */
export interface DeployProcessOptions {
  readonly databaseUrl: string;
  readonly version: VersionName;
}

/** One request for it. */
export interface DeployAsk {
  readonly id: number;
  readonly key: string;
}

/** Its answer; id 0: it is ready. */
export interface DeployAnswer {
  readonly id: number;
  readonly status: number;
  readonly body: string;
}
