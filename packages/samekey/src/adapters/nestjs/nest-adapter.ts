/**
 * The Nest adapter: a decorator of methods and controllers.
 *
 * Invariants: the key is claimed behind middleware, guards, interceptors and pipes, as the method is called, so that
 * what they refuse claims nothing · the answer is what leaves in the end, after interceptors and exception filters · a
 * decorated controller without `SamekeyModule` does not start · decorators are called as functions and read no types,
 * so no flag of a compiler matters.
 *
 * Source: @nestjs/core 12.5 router/router-execution-context.js (the order), docs.nestjs.com/faq/request-lifecycle.
 */

import type { ExecutionContext } from '@nestjs/common';
import type { Engine } from '../../engine/engine.ts';
import { OptionsError } from '../../core/errors.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { CHANGING_METHODS, compileRoute, type Route, type RouteOptions } from '../../http/route.ts';
import { protectedTwice } from '../../http/twice.ts';
import { noteDeclared } from '../../http-node/declared.ts';
import { hearReply, type KeepingReply } from '../../http-node/heard-reply.ts';
import { attemptOf as attemptOfNode } from '../../http-node/node-exchange.ts';
import { internalsOf } from '../../samekey.ts';
import { askForContext, askForProvider, type ContextGiver, isRoute, likewise } from './metadata.ts';
import { type ModuleOptions, SAMEKEY } from './module.ts';
import { exchangeOf, nodeOf } from './nest-exchange.ts';

/** Options of one method, or of a controller's methods; the others are the module's. */
export type NestRouteOptions = Partial<RouteOptions<ExecutionContext>>;

type Method = (this: object, ...args: unknown[]) => unknown;

interface Door {
  readonly engine: Engine;
  readonly route: Route<ExecutionContext>;
}

const WRAPPED: unique symbol = Symbol.for('samekey.nestjs.wrapped');

/**
 * Protects a method of a controller, or all routes of a controller: same key, same answer.
 *
 * ```ts
 * @Post('payments')
 * @Idempotent({ policy: 'payments' })
 * pay(@Body() order: Order) {
 *   return this.payments.charge(order);
 * }
 * ```
 *
 * Options that cannot work stop the application at its start. What a method says goes before what its controller says.
 */
export function Idempotent(options: NestRouteOptions = {}): ClassDecorator & MethodDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor !== undefined) return wrap(target, String(name), descriptor, options);
    const prototype = (target as { readonly prototype: object }).prototype;
    for (const [method, own] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (!isRoute(own.value) || WRAPPED in own.value) continue;
      wrap(prototype, method, own, options);
      Object.defineProperty(prototype, method, own);
    }
  };
}

function wrap(
  prototype: object,
  name: string,
  descriptor: PropertyDescriptor,
  options: NestRouteOptions,
): void {
  const run = descriptor.value as Method;
  const index = askForContext(prototype, name);
  const compiled = new WeakMap<ModuleOptions, Door>();
  let described: Door['route'] | null = null;
  const doors = new WeakMap<object, Door>();
  askForProvider(prototype, SAMEKEY, (instance, provided) => {
    const given = provided as ModuleOptions;
    let door = compiled.get(given);
    if (door === undefined) compiled.set(given, (door = doorOf(given, options)));
    described = door.route;
    doors.set(instance, door);
  });
  const wrapped: Method = function (...args) {
    const context = args[index] as ContextGiver | undefined;
    // A test calls the method as it is.
    if (context === undefined) return run.apply(this, args);
    const door = doors.get(this);
    if (door === undefined) throw new OptionsError(NO_MODULE);
    return through(door, context(), () => run.apply(this, args.slice(0, index)));
  };
  const stated = options.dialect?.route;
  const { methods = stated?.methods ?? [...CHANGING_METHODS], required = stated?.required ?? true } = options;
  descriptor.value = markProtected(likewise(wrapped, run), {
    methods: new Set([methods].flat().map((method) => String(method).toUpperCase())),
    required,
    answers: true,
    remark: options.dialect?.remark ?? null,
    // Known once the module has made the controller.
    door: () => described,
  });
  Object.defineProperty(wrapped, WRAPPED, { value: true });
}

function doorOf({ samekey, ...common }: ModuleOptions, own: NestRouteOptions): Door {
  const { engine, defaults } = internalsOf(samekey);
  const options = { ...common, ...own } as RouteOptions<ExecutionContext>;
  return { engine, route: compileRoute(defaults, options, engine.world, engine.fingerprintSecrets) };
}

/** What the method gives back; nothing for a request that was answered in its place. */
function through({ engine, route }: Door, context: ExecutionContext, run: () => unknown): Promise<unknown> {
  const { req, res, reply } = nodeOf(context);
  const outer = attemptOfNode(req);
  if (outer !== null && route.methods.has(req.method ?? '')) throw protectedTwice(engine, outer);
  const hear = (error: unknown): void => noteDeclared(error, req, res, () => undefined);
  return new Promise((resolve, reject) => {
    const next = (): void => {
      // Nest answers by Fastify's reply, which drops what comes after an answer.
      if (attemptOfNode(req) !== null && 'send' in reply && reply.raw !== undefined)
        hearReply(req, reply as unknown as KeepingReply);
      const result = (async () => heardStream(await run(), hear))();
      result.catch(hear);
      resolve(result);
    };
    const exchange = exchangeOf(context, engine, route, { next, fail: reject });
    void handle(engine, route, exchange).then(() => resolve(undefined));
  });
}

interface Observed {
  readonly lift?: unknown;
  subscribe(observer: object): unknown;
}

/** An observable tells of its error later; one made by its own class is one to whoever looks. */
function heardStream(result: unknown, hear: (error: unknown) => void): unknown {
  const stream = result as Observed | null | undefined;
  if (typeof stream?.subscribe !== 'function' || typeof stream.lift !== 'function') return result;
  const Observable = plainClass(stream);
  return new Observable((observer) =>
    stream.subscribe({
      next: (value: unknown) => observer.next(value),
      error(error: unknown) {
        hear(error);
        observer.error(error);
      },
      complete: () => observer.complete(),
    }),
  );
}

interface Observer {
  next(value: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

type ObservableClass = new (subscribe: (observer: Observer) => unknown) => unknown;

/** rxjs's own class, under subjects and whatever else is made of it. */
function plainClass(stream: object): ObservableClass {
  let prototype = Object.getPrototypeOf(stream) as object;
  for (;;) {
    const above = Object.getPrototypeOf(prototype) as object | null;
    if (above === null || above === Object.prototype) return prototype.constructor as ObservableClass;
    prototype = above;
  }
}

const NO_MODULE =
  '@Idempotent() found no instance of Samekey: import SamekeyModule.forRoot({ samekey, … }) into the application, and let Nest make the controller.';
