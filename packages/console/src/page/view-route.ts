/** Where somebody is, as the part of the address that no server sees. */

import type { Id } from '../api.ts';

/** A view. */
export type Route =
  | { readonly view: 'overview' }
  | { readonly view: 'records'; readonly filter: Filter }
  | { readonly view: 'record'; readonly id: Id }
  | { readonly view: 'letters'; readonly topic: string }
  | { readonly view: 'bulk'; readonly job: string }
  | { readonly view: 'minted'; readonly caller: string }
  | { readonly view: 'audit' };

/** Of the list of records. */
export interface Filter {
  readonly states: readonly string[];
  readonly operation: string;
  readonly caller: string;
  readonly key: string;
  /** A downstream key, or what the provider calls it. */
  readonly reference: string;
}

export const NO_FILTER: Filter = { states: [], operation: '', caller: '', key: '', reference: '' };

/** Reads an address. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const given = new URLSearchParams(query);
  const text = (name: string): string => given.get(name) ?? '';
  if (path === 'records') {
    const states = text('states').split(',').filter(Boolean);
    return {
      view: 'records',
      filter: {
        states,
        operation: text('operation'),
        caller: text('caller'),
        key: text('key'),
        reference: text('reference'),
      },
    };
  }
  if (path === 'record') return { view: 'record', id: { scope: text('scope'), key: text('key') } };
  if (path === 'letters') return { view: 'letters', topic: text('topic') };
  if (path === 'minted') return { view: 'minted', caller: text('caller') };
  if (path === 'bulk') return { view: 'bulk', job: text('id') };
  return path === 'audit' ? { view: 'audit' } : { view: 'overview' };
}

/** The address of a record. */
export function toRecord({ scope, key }: Id): string {
  return `#/record?${new URLSearchParams({ scope, key }).toString()}`;
}

/** The address of a list. */
export function toRecords(filter: Partial<Filter>): string {
  const { states, ...texts } = { ...NO_FILTER, ...filter };
  const given = { states: states.join(','), ...texts };
  const filled = Object.entries(given).filter(([, value]) => value !== '');
  return `#/records${filled.length === 0 ? '' : `?${new URLSearchParams(filled).toString()}`}`;
}

/** The address of a job; of an empty id: that of all. */
export function toJob(id: string): string {
  return id === '' ? '#/bulk' : `#/bulk?${new URLSearchParams({ id }).toString()}`;
}

/** The address of what a caller has sent under several keys. */
export function toMinted(caller: string): string {
  return `#/minted?${new URLSearchParams({ caller }).toString()}`;
}
