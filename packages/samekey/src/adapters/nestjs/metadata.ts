/**
 * What Nest's own decorators write with `reflect-metadata`, which every application of Nest has loaded: written here
 * without them, so that none of Nest is imported.
 *
 * Sources: @nestjs/common 12.5 constants.js, decorators/core/inject.decorator.js,
 * decorators/http/create-route-param-metadata.decorator.js.
 */

import type { ExecutionContext } from '@nestjs/common';
import { OptionsError } from '../../core/errors.ts';

interface Metadata {
  readonly getMetadata: (key: string, target: object, property?: string) => unknown;
  readonly getOwnMetadata: (key: string, target: object) => unknown;
  readonly getOwnMetadataKeys: (target: object) => string[];
  readonly defineMetadata: (key: string, value: unknown, target: object, property?: string) => void;
}

const ROUTE_ARGS = '__routeArguments__';
const PROPERTIES = 'self:properties_metadata';

/** Gives the execution context, wrapped: pipes for all parameters walk through objects, and leave functions alone. */
export type ContextGiver = () => ExecutionContext;

function metadata(): Metadata {
  const reflect = Reflect as Partial<Metadata>;
  if (typeof reflect.getMetadata === 'function') return reflect as Metadata;
  throw new OptionsError(
    'reflect-metadata is not loaded: import it, or @nestjs/common, before @Idempotent().',
  );
}

/** Has Nest give a method's execution context as its last argument; tells which that is. */
export function askForContext(prototype: object, method: string, index?: number): number {
  const { getMetadata, defineMetadata } = metadata();
  const owner = prototype.constructor;
  const args = (getMetadata(ROUTE_ARGS, owner, method) ?? {}) as Record<string, { readonly index: number }>;
  const at = index ?? Math.max(-1, ...Object.values(args).map((each) => each.index)) + 1;
  const factory = (_data: unknown, context: ExecutionContext): unknown =>
    index === undefined ? () => context : context;
  const own = {
    [`samekey${at}__customRouteArgs__:${at}`]: { index: at, factory, data: undefined, pipes: [] },
  };
  defineMetadata(ROUTE_ARGS, { ...args, ...own }, owner, method);
  return at;
}

/** Has Nest put what it knows by `token` into each instance, which `take` is then given. */
export function askForProvider(
  prototype: object,
  token: symbol,
  take: (instance: object, value: object) => void,
): void {
  const { getMetadata, defineMetadata } = metadata();
  const owner = prototype.constructor;
  const before = (getMetadata(PROPERTIES, owner) ?? []) as readonly unknown[];
  const key = `samekey:${before.length}`;
  defineMetadata(PROPERTIES, [...before, { key, type: token }], owner);
  Object.defineProperty(prototype, key, {
    configurable: true,
    set(this: object, value: object) {
      take(this, value);
    },
  });
}

/** Gives a function what others have said of another: their metadata and marks, its name and its length. */
export function likewise<Fn extends object>(fn: Fn, other: object): Fn {
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = metadata();
  const { prototype: _none, ...own } = Object.getOwnPropertyDescriptors<{ prototype?: unknown }>(other);
  Object.defineProperties(fn, own);
  for (const key of getOwnMetadataKeys(other)) defineMetadata(key, getOwnMetadata(key, other), fn);
  return fn;
}

/** Whether a method is a route. */
export function isRoute(fn: unknown): fn is (...args: never[]) => unknown {
  return typeof fn === 'function' && metadata().getMetadata('path', fn) !== undefined;
}

/** Whether a route is for all methods (`@All()`). */
export function isForAll(fn: object): boolean {
  return metadata().getMetadata('method', fn) === 5;
}
