/** The recipes of the guide: documents that the tools of frameworks make, with what protected routes say. */

import 'reflect-metadata';
import swagger from '@fastify/swagger';
import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describeRoute, generateSpecs } from 'hono-openapi';
import { expect, it } from 'vitest';
import { idempotent as onFastify } from '../../src/adapters/fastify/index.ts';
import { idempotent as onHono } from '../../src/adapters/hono/index.ts';
import { Idempotent, SamekeyModule } from '../../src/adapters/nestjs/index.ts';
import { coverage, routesOf, watchRoutes } from '../../src/coverage/index.ts';
import { mergeInto } from '../../src/openapi/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { expectOpenApi } from './kit.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });

async function expectMerged(document: object, app: unknown, path: string): Promise<void> {
  await expectOpenApi(document);
  expect(document).toMatchObject({
    paths: {
      [path]: {
        post: {
          parameters: expect.arrayContaining([
            expect.objectContaining({ name: 'Idempotency-Key', in: 'header', required: true }),
          ]),
          responses: { 409: { $ref: '#/components/responses/Idempotency409' } },
          'x-idempotency': { required: true, retention: 'PT24H' },
        },
      },
    },
  });
  expect(coverage(app, { document, passes: ['describeRoute'] }).disagreements).toEqual([]);
}

it('@fastify/swagger', async () => {
  const app = watchRoutes(fastify());
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Payments', version: '1' } },
    transformObject: (made) =>
      'openapiObject' in made ? mergeInto(made.openapiObject, routesOf(app)).document : made.swaggerObject,
  });
  await app.register(onFastify(samekey, { scope: () => 'acme' }));
  app.post('/orders/:id/pay', async (_req, reply) => reply.code(201).send({ paid: true }));
  await app.ready();
  await expectMerged(app.swagger(), app, '/orders/{id}/pay');
  await app.close();
});

it('hono-openapi', async () => {
  const app = new Hono();
  app.post(
    '/orders/:id/pay',
    describeRoute({ responses: { 201: { description: 'Paid.' } } }),
    onHono(samekey, { scope: () => 'acme' }),
    (c) => c.json({ paid: true }, 201),
  );
  const { document } = mergeInto(await generateSpecs(app), routesOf(app));
  await expectMerged(document, app, '/orders/{id}/pay');
});

it('a plain document of an application of NestJS, once its controllers are made', async () => {
  class Orders {
    pay(): object {
      return { paid: true };
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'pay') ?? {};
  Post(':id/pay')(Orders.prototype, 'pay', descriptor);
  Idempotent({})(Orders.prototype, 'pay', descriptor);
  Object.defineProperty(Orders.prototype, 'pay', descriptor);
  Controller('orders')(Orders);
  class App {
    readonly name = 'shop';
  }
  Module({
    imports: [SamekeyModule.forRoot({ samekey, scope: () => 'acme' })],
    controllers: [Orders],
  })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.init();
  const written = {
    openapi: '3.1.0',
    info: { title: 'Payments', version: '1' },
    paths: { '/orders/{id}/pay': { post: { responses: { 201: { description: 'Paid.' } } } } },
  };
  const { document, told } = mergeInto(written, routesOf(app));
  expect(told).toEqual([]);
  await expectMerged(document, app, '/orders/{id}/pay');
  await app.close();
});
