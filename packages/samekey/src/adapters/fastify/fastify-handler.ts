/**
 * A route's handler behind the claim, which is the last thing that happens before it: behind every hook, whoever adds
 * one and when.
 *
 * Invariant: what a handler throws, rejects with, returns or sends is heard before Fastify answers (heard-reply.ts).
 *
 * Source: fastify 5.12 lib/handle-request.js, lib/wrap-thenable.js.
 */

import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
import { handle } from '../../http/handle.ts';
import { protectedTwice } from '../../http/twice.ts';
import { hearReply } from '../../http-node/heard-reply.ts';
import { attemptOf } from '../../http-node/node-exchange.ts';
import { type Door, exchangeOf } from './fastify-exchange.ts';

/** Puts the claim before a route's handler; `doorOf`: the context that protects the route. */
export function behindClaim(
  handler: RouteHandlerMethod,
  doorOf: (request: FastifyRequest) => Door,
): RouteHandlerMethod {
  return function (request, reply) {
    const door = doorOf(request);
    const outer = attemptOf(request.raw);
    if (outer !== null) throw protectedTwice(door.engine, outer);
    return new Promise((resolve, reject) => {
      const next = (): void => {
        const heard = attemptOf(request.raw) === null ? null : hearReply(request.raw, reply);
        const failed = (error: unknown): void => {
          heard?.threw();
          reject(error);
        };
        let returned: unknown;
        try {
          returned = handler.call(this, request, reply);
        } catch (error) {
          return failed(error);
        }
        // It answers by itself, now or later.
        if (returned === undefined || returned === reply) return;
        if (!isThenable(returned)) return resolve(returned);
        awaited(returned).then((value) => {
          if (value === reply) return;
          if (value === undefined) heard?.endedSilent();
          resolve(value);
        }, failed);
      };
      // A replay is answered below Fastify: then nothing is left to be waited for.
      void handle(door.engine, door.route, exchangeOf(door, request, reply, { next, fail: reject }));
    });
  };
}

/** Also of what only has a `then`, which need not give anything back. */
async function awaited(given: PromiseLike<unknown>): Promise<unknown> {
  return given;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}
