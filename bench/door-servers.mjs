/**
 * One route behind each door, as its framework has it: it reads 1 KB of JSON and answers a small object. `protect` is null for the
 * route alone, without Samekey.
 */
import { createRequire } from 'node:module';
import 'reflect-metadata';
import { getRequestListener } from '@hono/node-server';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { initTRPC } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import express from 'express';
import fastify from 'fastify';
import { GraphQLInt, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import { Hono } from 'hono';
import Koa from 'koa';
import { idempotent as onExpress } from 'samekey/express';
import { idempotent as onFastify } from 'samekey/fastify';
import { idempotent as onFetch } from 'samekey/fetch';
import { idempotent as onGraphql } from 'samekey/graphql';
import { idempotent as onHono } from 'samekey/hono';
import { idempotent as onKoa } from 'samekey/koa';
import { idempotent as onLambda } from 'samekey/lambda';
import { Idempotent, SamekeyModule } from 'samekey/nestjs';
import { idempotent as onNext } from 'samekey/next';
import { idempotent as onNode } from 'samekey/node';
import { idempotent as onTrpc } from 'samekey/trpc';
import { BODY } from './body.mjs';
import { readJson, sendJson } from './http.mjs';

/** @typedef {import('samekey').Samekey} Samekey */
/** @typedef {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => unknown} Listener */
/**
 * `listener` for one that speaks HTTP, `call` for one that is called.
 * @typedef {{ listener: Listener, body?: string } | { call: (key: string) => Promise<unknown> }} Opened
 */

const load = createRequire(import.meta.url);
const OPTIONS = { policy: /** @type {const} */ ('payments'), scope: () => ['bench', 'customer-1'] };
const NAMED = { ...OPTIONS, operation: 'orders' };

/** @param {unknown} body */
function orderOf(body) {
  const { amountCents, items } = /** @type {{ amountCents: number, items: unknown[] }} */ (body);
  return { id: 'ord_1', amountCents, items: items.length };
}

/** @type {Listener} */
const plain = (req, res) => readJson(req, (body) => sendJson(res, 201, JSON.stringify(orderOf(body))));

/** @param {Request} request */
const answered = async (request) => Response.json(orderOf(await request.json()), { status: 201 });

/** @param {typeof express} framework @param {Samekey | null} samekey @returns {Opened} */
function expressOf(framework, samekey) {
  const app = framework();
  const protect = samekey === null ? [] : [onExpress(samekey, NAMED)];
  app.post(
    '/orders',
    ...protect,
    framework.json(),
    (req, res) => void res.status(201).json(orderOf(req.body)),
  );
  return { listener: app };
}

/** @param {import('@nestjs/core').AbstractHttpAdapter} adapter @param {Samekey | null} samekey */
async function nestOf(adapter, samekey) {
  class Orders {
    /** @param {unknown} body */
    create(body) {
      return orderOf(body);
    }
  }
  Body()(Orders.prototype, 'create', 0);
  const method = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(Orders.prototype, 'create')
  );
  if (samekey !== null) Idempotent(NAMED)(Orders.prototype, 'create', method);
  Object.defineProperty(Orders.prototype, 'create', method);
  Post('orders')(Orders.prototype, 'create', method);
  Controller()(Orders);
  class Application {
    name = 'bench';
  }
  Module({ imports: samekey === null ? [] : [SamekeyModule.forRoot({ samekey })], controllers: [Orders] })(
    Application,
  );
  const app = await NestFactory.create(Application, adapter, { logger: false, rawBody: true });
  await app.init();
}

/** @param {Samekey | null} samekey @returns {Opened} */
function koaOf(samekey) {
  const app = new Koa();
  if (samekey !== null) app.use(onKoa(samekey, NAMED));
  app.use(async (ctx) => {
    ctx.status = 201;
    ctx.body = orderOf(await new Promise((resolve) => readJson(ctx.req, resolve)));
  });
  return { listener: app.callback() };
}

/** @param {Samekey | null} samekey @returns {Promise<Opened>} */
async function fastifyOf(samekey) {
  const app = fastify();
  if (samekey !== null) await app.register(onFastify(samekey, OPTIONS));
  app.post('/orders', async (request, reply) => {
    reply.code(201);
    return orderOf(request.body);
  });
  await app.ready();
  return { listener: (req, res) => app.routing(req, res) };
}

/** @param {Samekey | null} samekey @returns {Opened} */
function honoOf(samekey) {
  const app = new Hono();
  if (samekey !== null) app.use(onHono(samekey, NAMED));
  app.post('/orders', async (c) => c.json(orderOf(await c.req.json()), 201));
  return { listener: getRequestListener(app.fetch) };
}

const httpOf = (/** @type {{ ctx: any }} */ { ctx }) => ctx.http;

/** @param {Samekey | null} samekey @returns {Opened} */
function trpcOf(samekey) {
  const t = initTRPC.context().create();
  const checked = t.procedure.input(
    (given) => /** @type {{ amountCents: number, items: unknown[] }} */ (given),
  );
  const protect = samekey === null ? checked : checked.use(onTrpc(samekey, { ...OPTIONS, http: httpOf }));
  const router = t.router({ orders: protect.mutation(({ input }) => orderOf(input)) });
  return { listener: createHTTPHandler({ router, createContext: (given) => ({ http: given }) }) };
}

const resolve = (/** @type {unknown} */ _source, /** @type {{ order: string }} */ { order }) =>
  orderOf(JSON.parse(order));

const requestOf = (/** @type {{ context: any }} */ { context }) => context.raw;

/** @param {Samekey | null} samekey @returns {Opened} */
function graphqlOf(samekey) {
  const Order = new GraphQLObjectType({
    name: 'Order',
    fields: { id: { type: GraphQLString }, items: { type: GraphQLInt } },
  });
  const orders = {
    type: Order,
    args: { order: { type: GraphQLString } },
    resolve: samekey === null ? resolve : onGraphql(samekey, { ...OPTIONS, request: requestOf }, resolve),
  };
  const query = new GraphQLObjectType({ name: 'Query', fields: { up: { type: GraphQLInt } } });
  const schema = new GraphQLSchema({
    query,
    mutation: new GraphQLObjectType({ name: 'Mutation', fields: { orders } }),
  });
  const text = 'mutation($order: String) { orders(order: $order) { id items } }';
  return {
    listener: createHandler({ schema, context: (given) => ({ raw: given.raw }) }),
    body: JSON.stringify({ query: text, variables: { order: BODY } }),
  };
}

/** @param {any} event */
const onAws = async (event) => ({
  statusCode: 201,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(orderOf(JSON.parse(event.body))),
});

/** @param {Samekey | null} samekey @returns {Opened} */
function lambdaOf(samekey) {
  const run = /** @type {(event: unknown, context: unknown) => Promise<unknown>} */ (
    samekey === null ? onAws : onLambda(samekey, NAMED, onAws)
  );
  const context = { getRemainingTimeInMillis: () => 900_000 };
  return {
    call: (key) =>
      run(
        {
          routeKey: 'POST /orders',
          rawPath: '/orders',
          rawQueryString: '',
          headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
          requestContext: { stage: '$default', http: { method: 'POST' } },
          body: BODY,
          isBase64Encoded: false,
        },
        context,
      ),
  };
}

/**
 * By door; those that share a framework stand together.
 * @type {Readonly<Record<string, (samekey: Samekey | null) => Opened | Promise<Opened>>>}
 */
export const DOORS = {
  express: (samekey) => expressOf(express, samekey),
  express4: (samekey) => expressOf(load('express4'), samekey),
  node: (samekey) => ({ listener: samekey === null ? plain : onNode(samekey, NAMED, plain) }),
  fastify: fastifyOf,
  koa: koaOf,
  async 'nest-express'(samekey) {
    const adapter = new ExpressAdapter();
    await nestOf(adapter, samekey);
    return { listener: adapter.getInstance() };
  },
  async 'nest-fastify'(samekey) {
    const adapter = new FastifyAdapter();
    await nestOf(adapter, samekey);
    const app = adapter.getInstance();
    await app.ready();
    return { listener: (req, res) => app.routing(req, res) };
  },
  hono: honoOf,
  fetch(samekey) {
    const run = samekey === null ? answered : onFetch(samekey, NAMED, answered);
    return { listener: getRequestListener((request) => run(request)) };
  },
  next(samekey) {
    const run = samekey === null ? answered : onNext(samekey, NAMED, answered);
    const params = { params: Promise.resolve({}) };
    return {
      listener: getRequestListener((request) => run(request, params)),
    };
  },
  lambda: lambdaOf,
  trpc: trpcOf,
  graphql: graphqlOf,
};
