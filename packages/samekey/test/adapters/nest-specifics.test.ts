/** What only Nest has around a door: its module, guards, pipes, interceptors, filters, files, `@Res()`, both platforms. */

import 'reflect-metadata';
import { type ServerResponse } from 'node:http';
import {
  Body,
  type CallHandler,
  ConflictException,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Injectable,
  type INestApplication,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Put,
  RequestMethod,
  Res,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { map, of, tap, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  Exchange,
  Idempotent,
  type NestRouteOptions,
  SamekeyModule,
  serve,
  serveStatus,
} from '../../src/adapters/nestjs/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { coverage, watchRoutes } from '../../src/coverage/index.ts';
import { createSamekey } from '../../src/index.ts';
import { internalsOf, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { type App, type Bench, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, assertReplay, header, json, text } from '../../../testing/src/adapter/expect.ts';
import { gate, jsonRequest } from '../../../testing/src/adapter/kit.ts';
import { decorate, listen, nestExpressHarness, parameters } from './nest-harness.ts';

const PLATFORMS: readonly { readonly platform: string; readonly adapter: () => AbstractHttpAdapter }[] = [
  { platform: 'Express', adapter: () => new ExpressAdapter() },
  { platform: 'Fastify', adapter: () => new FastifyAdapter() },
];

interface Amount {
  readonly amount: number;
}

const SCOPE = { scope: (): string => 'acme' };
const COMMON = { policy: 'standard', ...SCOPE } as const;
const run = (): object => ({ ok: true });
const declared = (): Error => new NotExecutedError('nothing was charged');
const transform = (value: Partial<Amount>): unknown => {
  if (typeof value === 'object' && typeof value.amount !== 'number') throw new ConflictException('no amount');
  return value;
};

async function started(
  samekey: Samekey,
  controllers: readonly Type[],
  adapter: AbstractHttpAdapter,
  before: (app: INestApplication) => unknown = () => undefined,
): Promise<INestApplication> {
  class Application {
    readonly name = 'shop';
  }
  const imports = [SamekeyModule.forRoot({ samekey, ...COMMON })];
  Module({ imports, controllers: [...controllers] })(Application);
  const app = await NestFactory.create(Application, adapter, {
    logger: false,
    rawBody: true,
    abortOnError: false,
  });
  await before(app);
  await app.init();
  const fastify = adapter.getInstance<{ ready?(): Promise<void> }>();
  await fastify.ready?.();
  return app;
}

/** One application of these controllers, with Nest's own parsers and `rawBody`. */
function on(
  adapter: AbstractHttpAdapter,
  build: (samekey: Samekey) => readonly Type[],
  body: (app: App, t: Bench) => Promise<void>,
  before?: (app: INestApplication) => unknown,
): Promise<void> {
  const serveIt = async (samekey: Samekey) => {
    const app = await started(samekey, build(samekey), adapter, before);
    return listen(app.getHttpServer() as never, () => app.close());
  };
  return onBench({ ...nestExpressHarness, serve: serveIt }, async (t) => body(await t.start(), t));
}

/** A controller at `/` with one method for `POST /things`. */
function controller(
  method: (...args: never[]) => unknown,
  params: readonly ParameterDecorator[],
  decorators: readonly MethodDecorator[] = [],
  options: NestRouteOptions = {},
): Type {
  class Things {
    handle(): void {}
  }
  Object.defineProperty(Things.prototype, 'handle', { value: method, configurable: true, writable: true });
  parameters(Things, 'handle', ...params);
  decorate(Things, 'handle', Post('things'), Idempotent(options), ...decorators);
  Controller()(Things);
  return Things;
}

describe.each(PLATFORMS)('Nest on $platform, as it is set up', ({ adapter }) => {
  it('replays what leaves in the end: after interceptors, with the status and headers of decorators', () => {
    let seen = 0;
    const errors: unknown[] = [];
    const failed = { catch: (error: unknown) => void errors.push(error) };
    const wrapIt = {
      intercept: (_context: ExecutionContext, next: CallHandler) =>
        next.handle().pipe(
          tap(() => (seen += 1)),
          map((data: unknown) => ({ data })),
        ),
    };
    return on(
      adapter(),
      () => [
        controller(
          ({ amount }: Amount) => Promise.resolve({ amount }),
          [Body()],
          [HttpCode(202), Header('X-Own', 'yes'), UseInterceptors(wrapIt), UseFilters(failed)],
        ),
      ],
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first), header(first, 'x-own')]).toEqual([
          202,
          '{"data":{"amount":1}}',
          'yes',
        ]);
        assertReplay(first, await app.post('key-1'));
        assertProblem(await app.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
        // Interceptors end for a replay too, which has nothing for them.
        expect([seen, errors]).toEqual([3, []]);
      },
    );
  });

  it('guards and pipes come before the claim: what they refuse claims nothing', () => {
    let isAllowed = false;
    return on(
      adapter(),
      () => [
        controller(
          (body: Amount) => body,
          [Body()],
          [UseGuards({ canActivate: () => isAllowed }), UsePipes({ transform })],
        ),
      ],
      async (app) => {
        expect((await app.post('key-1')).status).toBe(403);
        isAllowed = true;
        expect((await app.send(jsonRequest('key-1', { amount: 'much' }))).status).toBe(409);
        expect((await app.send(jsonRequest('key-1', '{"amount":'))).status).toBe(400);
        expect(app.count('claimed')).toBe(0);
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([201, '{"amount":1}']);
        assertReplay(first, await app.post('key-1'));
      },
    );
  });

  it('exception filters answer, that answer is recorded, and what the error declares is heard', () => {
    let runs = 0;
    const sold = {
      catch: (_error: unknown, host: { switchToHttp(): { getResponse(): unknown } }) => {
        const reply = host.switchToHttp().getResponse() as {
          status(code: number): { send(body: string): void };
        };
        reply.status(503).send('later');
      },
    };
    return on(
      adapter(),
      () => [
        controller(
          () => {
            runs += 1;
            if (runs === 1) throw declared();
            if (runs === 2) return Promise.reject(declared());
            if (runs === 3) return throwError(declared);
            if (runs === 4) throw new ConflictException('sold out');
            return of({ runs });
          },
          [],
          [UseFilters(sold)],
          { policy: 'payments' },
        ),
      ],
      async (app) => {
        for (let count = 1; count <= 3; count += 1) {
          const answer = await app.post('key-1');
          expect([answer.status, text(answer), runs]).toEqual([503, 'later', count]);
        }
        const last = await app.post('key-2');
        expect([last.status, runs]).toEqual([503, 4]);
        await app.post('key-1');
        expect(runs).toBe(5);
      },
    );
  });

  it('a method that has the response itself answers as it likes', () =>
    on(
      adapter(),
      () => [
        controller(
          (reply: { status(code: number): { send(body: unknown): void } }) => {
            setImmediate(() => reply.status(203).send({ ok: true }));
          },
          [Res()],
        ),
      ],
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([203, '{"ok":true}']);
        assertReplay(first, await app.post('key-1'));
      },
    ));

  it('a method that is given up answers nobody, and its late answer is the record’s', () => {
    const [up, free] = [gate(), gate()];
    return on(
      adapter(),
      () => [
        controller(
          async () => {
            up.open();
            await free.opened;
            return { late: true };
          },
          [],
          [],
          { attemptTimeMaxMs: 60_000 },
        ),
      ],
      async (app, t) => {
        const first = app.post('key-1');
        await up.opened;
        assertProblem(await t.passUntil(first), 409, 'outcome-unknown');
        free.open();
        expect((await t.passUntil(app.saw('finished'), 1_000)).to).toBe('completed');
        expect(text(await app.post('key-1'))).toBe('{"late":true}');
      },
    );
  });

  it('a decorated controller protects its changing routes; a method has the last word', () =>
    on(
      adapter(),
      () => {
        class Things {
          list(): object {
            return [];
          }
          make(): object {
            return { made: true };
          }
          replace(id: number): object {
            return { id };
          }
        }
        parameters(Things, 'replace', Param('id', ParseIntPipe));
        decorate(Things, 'list', Get());
        decorate(Things, 'make', Post());
        decorate(Things, 'replace', Idempotent({ required: false }), Put(':id'));
        Idempotent()(Things);
        Controller('things')(Things);
        return [Things];
      },
      async (app) => {
        assertProblem(await app.post(null), 400, 'key-missing');
        assertReplay(await app.post('key-1'), await app.post('key-1'));
        expect((await app.send({ method: 'GET', target: '/things' })).status).toBe(200);
        const put = { method: 'PUT', target: '/things/7' };
        expect(json(await app.post(null, put))).toEqual({ id: 7 });
        assertReplay(await app.post('key-2', put), await app.post('key-2', put));
      },
    ));

  it('operations are served in methods, and their status is told', () => {
    const opened: Samekey[] = [];
    return on(
      adapter(),
      (samekey) => {
        opened.push(samekey);
        const report = samekey.deferred(
          samekey.plain({ name: 'report', policy: 'standard', run: async (input: Amount) => input.amount }),
        );
        const place = serve(report, { ...SCOPE, location: (_context, key) => `/things/${key}` });
        const status = serveStatus(report, {
          ...SCOPE,
          key: (context) => context.switchToHttp().getRequest<{ params: { key: string } }>().params.key,
        });
        class Reports {
          place(context: ExecutionContext): Promise<void> {
            return place(context);
          }
          status(context: ExecutionContext): Promise<void> {
            return status(context);
          }
        }
        for (const name of ['place', 'status']) parameters(Reports, name, Exchange());
        decorate(Reports, 'place', Post());
        decorate(Reports, 'status', Get(':key'));
        Controller('things')(Reports);
        return [Reports];
      },
      async (app) => {
        const placed = await app.post('key-1');
        expect([placed.status, header(placed, 'location')]).toEqual([202, '/things/key-1']);
        const look = { method: 'GET', target: '/things/key-1' };
        expect((await app.send(look)).status).toBe(202);
        await pushDue(internalsOf(opened[0] as Samekey), 10);
        expect(text(await app.send(look))).toBe('1');
      },
    );
  });

  it('replay engages in an application as it is run: CORS, headers of middleware, a prefix, validation', () => {
    let runs = 0;
    return on(
      adapter(),
      () => [controller(() => ({ run: (runs += 1) }), [Body()])],
      async (app) => {
        const from = { target: '/v1/things', headers: [['Origin', 'https://shop.example']] as const };
        const first = await app.post('key-1', from);
        const again = await app.post('key-1', from);
        assertReplay(first, again);
        expect([text(first), runs]).toEqual(['{"run":1}', 1]);
        for (const answer of [first, again, await app.post(null, from)]) {
          expect(header(answer, 'access-control-allow-origin')).toBe('https://shop.example');
          expect(header(answer, 'x-frame-options')).toBe('DENY');
        }
      },
      (app) => {
        app.setGlobalPrefix('v1');
        app.enableCors({ origin: 'https://shop.example' });
        app.use((_req: unknown, res: ServerResponse, next: () => void) => {
          res.setHeader('X-Frame-Options', 'DENY');
          next();
        });
        app.useGlobalPipes({ transform: (value: unknown) => value });
      },
    );
  });

  it('coverage sees what decorators protect', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const used = adapter();
    const instance: unknown = used.getInstance();
    if (typeof instance !== 'function') watchRoutes(instance as never);
    const app = await started(samekey, [controller(() => 1, [])], used);
    expect(coverage(app).routes.map(({ path, protectedBy }) => [path, protectedBy])).toEqual([
      ['/things', 'samekey'],
    ]);
    await app.close();
  });
});

describe('the module', () => {
  it('may be made of other providers', async () => {
    class Settings {
      readonly policy = 'standard';
    }
    Injectable()(Settings);
    class SettingsModule {
      readonly name = 'settings';
    }
    Module({ providers: [Settings], exports: [Settings] })(SettingsModule);
    class Application {
      readonly name = 'shop';
    }
    const samekey = createSamekey({ store: memoryStore() });
    const imported = SamekeyModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: ({ policy }: Settings) => ({ samekey, policy, scope: () => 'acme' }),
    });
    Module({ imports: [imported], controllers: [controller(run, [])] })(Application);
    const app = await NestFactory.create(Application, { logger: false, abortOnError: false });
    await app.init();
    await app.close();
  });

  it('must be there: a decorated controller does not start without it', async () => {
    class Application {
      readonly name = 'shop';
    }
    Module({ controllers: [controller(run, [])] })(Application);
    const made = NestFactory.create(Application, { logger: false, abortOnError: false });
    await expect(made.then((app) => app.init())).rejects.toThrow('samekey.nestjs');
  });

  it('options that cannot work stop the application at its start', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const things = controller(run, [], [], { requestSizeMaxBytes: -1 });
    await expect(started(samekey, [things], new ExpressAdapter())).rejects.toThrow('requestSizeMaxBytes');
  });

  it('a method that a test calls by itself runs as it is', () => {
    const Things = controller((amount: number) => amount + 1, [Body()]);
    expect((new Things() as { handle(amount: number): number }).handle(1)).toBe(2);
  });

  it('what is not HTTP is refused, and the error says what to use', () => {
    const Things = controller(run, []);
    const things = new Things() as Record<string, unknown> & { handle(given: unknown): unknown };
    const [{ key }] = Reflect.getMetadata('self:properties_metadata', Things) as [{ key: string }];
    things[key] = { samekey: createSamekey({ store: memoryStore() }), ...COMMON };
    expect(() => things.handle(() => ({ getType: () => 'graphql' }))).toThrow('samekey.run');
  });

  it('RequestMethod.ALL is what this door takes for all methods', () => expect(RequestMethod.ALL).toBe(5));
});
