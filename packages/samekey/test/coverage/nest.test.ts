/** Coverage of NestJS on Express and on Fastify; decorators are called as functions, as compilers call them. */

import 'reflect-metadata';
import {
  Controller,
  type INestApplication,
  type MiddlewareConsumer,
  Module,
  Post,
  Put,
  RequestMethod,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/express/index.ts';
import { coverage, Exempt, watchRoutes } from '../../src/coverage/index.ts';
import { createSamekey, singleTenant } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });

/** `@Post(path) name() {}` on a prototype, with further decorators. */
function decorate(owner: Type, name: string, ...decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, name) as PropertyDescriptor;
  for (const each of decorators) each(owner.prototype as object, name, descriptor);
}

class Payments {
  pay(): string {
    return 'paid';
  }
  search(): string {
    return 'found';
  }
  replace(): string {
    return 'replaced';
  }
}
decorate(Payments, 'pay', Post());
decorate(Payments, 'search', Post('search'), Exempt('reads only'));
decorate(Payments, 'replace', Put(':id'));
Controller('payments')(Payments);

class Views {
  show(): string {
    return 'shown';
  }
}
decorate(Views, 'show', Post('show'));
Controller('views')(Views);
Exempt('draws only')(Views);

class Application {
  readonly name = 'payments';
}
Module({ controllers: [Payments, Views] })(Application);

function lines(app: INestApplication): readonly string[] {
  return coverage(app).routes.map(
    ({ method, path, protectedBy, reason }) => `${method} ${path} ${protectedBy ?? '-'} ${reason ?? ''}`,
  );
}

describe('NestJS', () => {
  it('on Express lists its routes, what is used before them, and what decorators exempt', async () => {
    const app = await NestFactory.create(Application, { logger: false });
    app.setGlobalPrefix('v1');
    app.use('/v1/payments', idempotent(samekey, { scope: singleTenant() }));
    expect(coverage(app).unseen[0]?.why).toContain('app.init()');
    await app.init();
    expect(lines(app)).toEqual([
      'POST /v1/payments samekey ',
      'PUT /v1/payments/:id - A PUT without a key passes here: put idempotent() on the route, or add PUT to "methods".',
      'POST /v1/payments/search samekey ',
      'POST /v1/views/show exempt draws only',
    ]);
    await app.close();
  });

  it('counts middleware classes of modules whose use is what idempotent returned, for the routes they are for', async () => {
    const protect = idempotent(samekey, { scope: singleTenant() });
    class Protects {
      readonly use = protect;
    }
    class Passes {
      use(_req: unknown, _res: unknown, next: () => void): void {
        next();
      }
    }
    const cases: readonly (readonly [
      apply: (consumer: MiddlewareConsumer) => unknown,
      covered: readonly string[],
    ])[] = [
      [
        (consumer) => consumer.apply(Passes, Protects).forRoutes('payments'),
        ['/v1/payments', '/v1/payments/search'],
      ],
      [
        (consumer) => consumer.apply(Protects).forRoutes({ path: 'payments', method: RequestMethod.POST }),
        ['/v1/payments'],
      ],
      [
        (consumer) =>
          consumer.apply(Protects).forRoutes({ path: 'payments/search', method: RequestMethod.PUT }),
        [],
      ],
      [
        (consumer) => consumer.apply(Protects).forRoutes({ path: 'payments', method: RequestMethod.ALL }),
        ['/v1/payments'],
      ],
      // Nest puts it on each route of a controller, with its method.
      [
        (consumer) => consumer.apply(Protects).forRoutes(Payments),
        ['/v1/payments', '/v1/payments/:id', '/v1/payments/search'],
      ],
      [(consumer) => consumer.apply(Passes).forRoutes('payments'), []],
      // Nest wraps functions: nobody can see what is in them.
      [(consumer) => consumer.apply(protect).forRoutes('payments'), []],
    ];
    for (const [configure, covered] of cases) {
      class Applying {
        configure(consumer: MiddlewareConsumer): void {
          configure(consumer);
        }
      }
      Module({ controllers: [Payments, Views] })(Applying);
      const app = await NestFactory.create(Applying, { logger: false });
      app.setGlobalPrefix('v1');
      await app.init();
      const found = coverage(app).routes.filter(({ protectedBy }) => protectedBy === 'samekey');
      expect(
        found.map(({ path }) => path),
        String(configure),
      ).toEqual(covered);
      await app.close();
    }
  });

  it('on Fastify lists its routes once the instance beneath is watched', async () => {
    for (const watched of [true, false]) {
      const adapter = new FastifyAdapter();
      if (watched) watchRoutes(adapter.getInstance());
      const app = await NestFactory.create(Application, adapter as never, { logger: false });
      await app.init();
      expect(lines(app)).toEqual(
        watched
          ? [
              'POST /payments - ',
              'PUT /payments/:id - ',
              'POST /payments/search exempt reads only',
              'POST /views/show exempt draws only',
            ]
          : [],
      );
      expect(coverage(app).unseen).toHaveLength(watched ? 0 : 1);
      await app.close();
    }
  });
});
