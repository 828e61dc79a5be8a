/** Doors of frameworks that send what their context holds, as the fuzz drives them: Koa, Fastify, Lambda, Next. */

import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FastifyReply } from 'fastify';
import Koa, { type Context } from 'koa';
import { idempotent as protectFastify } from '../../src/adapters/fastify/index.ts';
import { idempotent as protectKoa } from '../../src/adapters/koa/index.ts';
import { idempotent as protectLambda, type LambdaEvent } from '../../src/adapters/lambda/index.ts';
import { idempotent as protectNext } from '../../src/adapters/next/index.ts';
import type { FuzzDoor, Speech, ValuePlan } from '../../../testing/src/fuzz-contract.ts';
import { bare as bareFastify, listen as listenFastify } from '../adapters/fastify-harness.ts';
import { listen as listenFetch } from '../adapters/fetch-harness.ts';
import { listen as listenKoa } from '../adapters/koa-harness.ts';
import { CONTEXT, eventOf, listen as listenLambda, send as sendLambda } from '../adapters/lambda-harness.ts';
import { OwnRequest, proxied } from '../adapters/next-harness.ts';
import { FETCH_SPEECH, fetched } from './fetch-doors.ts';
import { answerFault, METHODS, NODE_SPEECH, planIdOf, scope, streamOf } from './node-doors.ts';

const isMethod = (method: string | undefined): boolean =>
  (METHODS as readonly string[]).includes(method ?? '');

function valueOnKoa(ctx: Context, plan: ValuePlan): void {
  ctx.status = plan.status;
  for (const [name, value] of plan.lines) ctx.res.appendHeader(name, value);
  const body = Buffer.concat(plan.pieces);
  if (plan.body === 'none') ctx.body = null;
  else if (plan.body === 'text') ctx.body = body.toString();
  else if (plan.body === 'bytes') ctx.body = body;
  else ctx.body = Readable.from(streamOf(plan), { objectMode: false });
  ctx.status = plan.status;
}

function koaDoor(name: string, Application: typeof Koa, own: Partial<FuzzDoor> = {}): FuzzDoor {
  return {
    name,
    speech: NODE_SPEECH,
    isByteTrue: false,
    emptyStatuses: [205],
    dropsBodiesOf: [204, 205, 304],
    unsaidStatus: 404,
    typesEmptyBodies: 'text/plain; charset=utf-8',
    hearsThrows: false,
    ...own,
    serve(samekey, routes, answers) {
      const app = new Application();
      app.silent = true;
      app.use(async (ctx, next) => {
        try {
          await next();
        } catch {
          ctx.respond = false;
          answerFault(ctx.res);
        }
      });
      app.use(async (ctx, next) => {
        if (ctx.method === 'GET' && ctx.path === '/probe') ctx.body = 'probe';
        else await next();
      });
      for (const { path, options } of routes) {
        const protect = samekey === null ? null : protectKoa(samekey, { ...options, scope });
        const handler = async (ctx: Context): Promise<void> => {
          const answer = answers.begin(planIdOf(ctx.req), await buffer(ctx.req));
          if (typeof answer !== 'function') return valueOnKoa(ctx, answer);
          ctx.respond = false;
          await answer(ctx.res);
        };
        app.use(async (ctx, next) => {
          if (ctx.path !== path || !isMethod(ctx.method)) await next();
          else if (protect === null) await handler(ctx);
          else await protect(ctx, () => handler(ctx));
        });
      }
      return listenKoa(app);
    },
  };
}

// An alias without types of its own; what is used is the same in both versions.
const Koa2 = createRequire(import.meta.url)('koa2') as typeof Koa;

export const koaFuzz: FuzzDoor = koaDoor('koa', Koa);
export const koa2Fuzz: FuzzDoor = koaDoor('koa2', Koa2, {
  speech: { ...NODE_SPEECH, hangsOnBreak: true },
  leavesUnframed: true,
});

function valueOnFastify(reply: FastifyReply, plan: ValuePlan): FastifyReply {
  reply.code(plan.status);
  for (const [name, value] of plan.lines) {
    const before = reply.getHeader(name);
    const isFirst = before === undefined || name.toLowerCase() === 'set-cookie';
    reply.header(name, isFirst ? value : ([before, value].flat() as never));
  }
  const body = Buffer.concat(plan.pieces);
  if (plan.body === 'none') return reply.send();
  if (plan.body === 'text') return reply.send(body.toString());
  if (plan.body === 'bytes') return reply.send(body);
  return reply.send(Readable.from(streamOf(plan), { objectMode: false }));
}

export const fastifyFuzz: FuzzDoor = {
  name: 'fastify',
  speech: NODE_SPEECH,
  dropsBodiesOf: [204],
  isByteTrue: false,
  hearsThrows: false,
  async serve(samekey, routes, answers) {
    const app = bareFastify();
    app.setErrorHandler((_error, _request, reply) => {
      if (reply.raw.headersSent) return void reply.raw.destroy();
      for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
      return reply.code(500).send('error');
    });
    app.get('/probe', async () => 'probe');
    for (const { path, options } of routes) {
      app.register(async (at) => {
        if (samekey !== null) at.register(protectFastify(samekey, { ...options, scope }));
        at.register(async (inner) => {
          inner.route({
            method: [...METHODS],
            url: path,
            async handler(request, reply) {
              const body = Buffer.isBuffer(request.body) ? request.body : new Uint8Array(0);
              const answer = answers.begin(planIdOf(request.raw), body);
              if (typeof answer !== 'function') return valueOnFastify(reply, answer);
              reply.hijack();
              // Once hijacked, nobody answers for its handler.
              await answer(reply.raw).catch(() => answerFault(reply.raw));
              return reply;
            },
          });
        });
      });
    }
    return listenFastify(app);
  },
};

/** A result is whole. */
const LAMBDA_SPEECH: Speech = { kinds: ['value'], bodies: ['none', 'bytes', 'text'], isFetch: true };

export const lambdaFuzz: FuzzDoor = {
  name: 'lambda',
  speech: LAMBDA_SPEECH,
  joinsLines: true,
  isByteTrue: false,
  hearsThrows: true,
  serve(samekey, routes, answers) {
    const handler = async (event: LambdaEvent): Promise<unknown> => {
      const body = Buffer.from(event.body ?? '', event.isBase64Encoded === true ? 'base64' : 'utf8');
      const found = Object.entries(event.multiValueHeaders ?? {}).find(
        ([name]) => name.toLowerCase() === 'x-plan',
      );
      const plan = answers.begin(found?.[1]?.[0], body);
      if (typeof plan === 'function') throw new TypeError('No calls can be made on a result.');
      const values = new Map<string, string[]>();
      for (const [given, value] of plan.lines) {
        const name = given.toLowerCase();
        values.set(name, [...(values.get(name) ?? []), value]);
      }
      const multiValueHeaders = Object.fromEntries(values);
      const whole = Buffer.concat(plan.pieces);
      const bodied =
        plan.body === 'text'
          ? { body: whole.toString() }
          : { body: whole.toString('base64'), isBase64Encoded: true };
      return { statusCode: plan.status, multiValueHeaders, ...(plan.body === 'none' ? {} : bodied) };
    };
    const functions = routes.map(({ path, options }) => ({
      path,
      run: samekey === null ? handler : protectLambda(samekey, { ...options, scope }, handler),
    }));
    return listenLambda(async (req, body, res) => {
      const { pathname } = new URL(req.url ?? '/', 'http://gateway');
      const found = isMethod(req.method) ? functions.find(({ path }) => path === pathname) : undefined;
      if (req.method === 'GET' && pathname === '/probe') res.end('probe');
      else if (found === undefined) res.writeHead(404).end('not found');
      else sendLambda(res, (await found.run(eventOf('a REST API', req, body, found.path), CONTEXT)) as never);
    });
  },
};

export const nextFuzz: FuzzDoor = {
  name: 'next',
  speech: FETCH_SPEECH,
  unsaidStatus: null,
  isByteTrue: false,
  hearsThrows: true,
  serve(samekey, routes, answers) {
    const apps = routes.map(({ path, options }) => ({
      path,
      app:
        samekey === null
          ? (request: Request) => fetched(answers, request)
          : protectNext(samekey, { ...options, scope }, (request: Request) => fetched(answers, request)),
    }));
    return listenFetch((request) => {
      const { pathname } = new URL(request.url);
      if (request.method === 'GET' && pathname === '/probe') return new Response('probe');
      const found = isMethod(request.method) ? apps.find(({ path }) => path === pathname) : undefined;
      const own = proxied(new OwnRequest(request));
      return found?.app(own, { params: Promise.resolve({}) }) ?? new Response('not found', { status: 404 });
    });
  },
};
