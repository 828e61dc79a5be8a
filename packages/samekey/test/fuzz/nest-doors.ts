/** Nest on Express and on Fastify, as the fuzz drives it: handlers return what Nest sends. */

import 'reflect-metadata';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  All,
  type ArgumentsHost,
  Controller,
  Get,
  HttpException,
  Module,
  Req,
  Res,
  StreamableFile,
  type Type,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { Idempotent, SamekeyModule } from '../../src/adapters/nestjs/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import type { Answers, FuzzDoor, FuzzRoute, Speech, ValuePlan } from '../../../testing/src/fuzz-contract.ts';
import { decorate, listen, parameters } from '../adapters/nest-harness.ts';
import { answerFault, METHODS, planIdOf, scope, streamOf } from './node-doors.ts';

/** What a controller can return. */
const NEST_SPEECH: Speech = { kinds: ['value'], bodies: ['none', 'bytes', 'text', 'stream'], isFetch: false };

/** A reply of Fastify, or Express's response. */
interface Reply {
  readonly raw?: ServerResponse;
  status(code: number): unknown;
  header(name: string, value: unknown): unknown;
  getHeader(name: string): string | readonly string[] | undefined;
}

const rawOf = (reply: Reply): ServerResponse => reply.raw ?? (reply as unknown as ServerResponse);

function valueOnNest(reply: Reply, plan: ValuePlan): unknown {
  reply.status(plan.status);
  for (const [name, value] of plan.lines) {
    if (reply.raw === undefined) rawOf(reply).appendHeader(name, value);
    else {
      const before = reply.getHeader(name);
      const isFirst = before === undefined || name.toLowerCase() === 'set-cookie';
      reply.header(name, isFirst ? value : [before, value].flat());
    }
  }
  const body = Buffer.concat(plan.pieces);
  if (plan.body === 'none') return undefined;
  if (plan.body === 'text') return body.toString();
  const file =
    plan.body === 'bytes'
      ? new StreamableFile(body)
      : new StreamableFile(Readable.from(streamOf(plan), { objectMode: false }));
  return file.setErrorHandler((_error, res) => rawOf(res as unknown as Reply).destroy());
}

function controllerOf({ path, options }: FuzzRoute, isProtected: boolean, answers: Answers): Type {
  class Things {
    async handle(req: IncomingMessage & { readonly raw?: IncomingMessage }, reply: Reply): Promise<unknown> {
      const incoming = req.raw ?? req;
      if (!(METHODS as readonly string[]).includes(incoming.method ?? ''))
        throw new HttpException('not found', 404);
      const plan = answers.begin(planIdOf(incoming), await buffer(incoming));
      if (typeof plan === 'function') throw new TypeError('No calls can be made on what is returned.');
      return valueOnNest(reply, plan);
    }
  }
  parameters(Things, 'handle', Req(), Res({ passthrough: true }));
  decorate(Things, 'handle', All(path), ...(isProtected ? [Idempotent({ ...options, scope })] : []));
  Controller()(Things);
  return Things;
}

class Probe {
  probe(): string {
    return 'probe';
  }
}
decorate(Probe, 'probe', Get('/probe'));
Controller()(Probe);

/** Answers what was thrown, as an application's filter does. */
class Faults {
  catch(error: unknown, host: ArgumentsHost): void {
    const res = rawOf(host.switchToHttp().getResponse<Reply>());
    if (error instanceof HttpException && !res.headersSent) res.writeHead(error.getStatus()).end('refused');
    else answerFault(res);
  }
}

function nestDoor(
  name: string,
  own: Pick<FuzzDoor, 'dropsBodiesOf'>,
  open: () => { readonly adapter: AbstractHttpAdapter; readonly serverOf: () => Promise<Server> },
): FuzzDoor {
  return {
    name,
    speech: NEST_SPEECH,
    isByteTrue: false,
    hearsThrows: false,
    ...own,
    async serve(samekey: Samekey | null, routes, answers) {
      class Application {
        readonly name = 'fuzz';
      }
      Module({
        imports: samekey === null ? [] : [SamekeyModule.forRoot({ samekey })],
        controllers: [Probe, ...routes.map((route) => controllerOf(route, samekey !== null, answers))],
      })(Application);
      const { adapter, serverOf } = open();
      const app = await NestFactory.create(Application, adapter, {
        logger: false,
        abortOnError: false,
        bodyParser: false,
      });
      app.useGlobalFilters(new Faults());
      await app.init();
      return listen(await serverOf(), () => app.close());
    },
  };
}

export const nestExpressFuzz: FuzzDoor = nestDoor('nest-express', {}, () => {
  const adapter = new ExpressAdapter();
  return { adapter, serverOf: async () => createServer(adapter.getInstance()) };
});

export const nestFastifyFuzz: FuzzDoor = nestDoor('nest-fastify', { dropsBodiesOf: [204] }, () => {
  const adapter = new FastifyAdapter({ bodyLimit: 100_000_000, exposeHeadRoutes: false });
  const instance = adapter.getInstance<FastifyInstance>();
  instance.removeAllContentTypeParsers();
  // Nobody reads the body before the method asks for it.
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return {
    adapter,
    async serverOf() {
      await instance.ready();
      return instance.server;
    },
  };
});
