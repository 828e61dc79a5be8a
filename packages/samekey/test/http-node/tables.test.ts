/** What a request and an answer are as tables: the same, and cheap on Express. */

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { expect, test } from 'vitest';
import { asTables } from '../../src/http-node/node-exchange.ts';

setFlagsFromString('--allow-natives-syntax');
// oxlint-disable-next-line typescript/no-implied-eval -- V8 tells it by a syntax of its own
const isFast = new Function('object', 'return %HasFastProperties(object)') as (object: object) => boolean;

function pair(): { readonly req: IncomingMessage; readonly res: ServerResponse } {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  // As Express does it.
  Object.setPrototypeOf(req, Object.create(IncomingMessage.prototype));
  Object.setPrototypeOf(res, Object.create(ServerResponse.prototype));
  return { req, res };
}

test('a request and its answer become tables, and keep every property as it was', () => {
  const { req, res } = pair();
  const before = [req, res].map((each) => Object.getOwnPropertyDescriptors(each));
  expect([isFast(req), isFast(res)]).toEqual([true, true]);
  asTables(req, res);
  expect([isFast(req), isFast(res)]).toEqual([false, false]);
  expect([req, res].map((each) => Object.getOwnPropertyDescriptors(each))).toEqual(before);
});

test('what is no object of Node’s own, or is frozen, stays as it is', () => {
  const frozen = pair();
  Object.freeze(frozen.req);
  asTables(frozen.req, frozen.res);
  const [req, res] = [{ method: 'POST' }, Object.freeze({ statusCode: 200, sendDate: true })];
  asTables(req as IncomingMessage, res as unknown as ServerResponse);
  expect([req, res]).toEqual([{ method: 'POST' }, { statusCode: 200, sendDate: true }]);
});
