/** Gives an application of Nest its instance of Samekey, and what its protected routes have in common. */

import type { DynamicModule, ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common';
import type { RouteOptions } from '../../http/route.ts';
import type { Samekey } from '../../samekey.ts';

/** The token of {@link ModuleOptions}. */
export const SAMEKEY: unique symbol = Symbol.for('samekey.nestjs');

/** What is of one route is said there. */
type OfOneRoute = 'operation' | 'formerly' | 'methods' | 'required' | 'schema';

/** The instance, and the options that routes have in common. */
export interface ModuleOptions extends Omit<Partial<RouteOptions<ExecutionContext>>, OfOneRoute> {
  readonly samekey: Samekey;
}

/** The same, made by a factory. */
export interface AsyncModuleOptions
  extends Pick<ModuleMetadata, 'imports'>,
    Pick<FactoryProvider<ModuleOptions>, 'inject' | 'useFactory'> {}

/** The module; import it once, at the root: it is there for all modules. */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest knows a module by its class
export class SamekeyModule {
  /**
   * ```ts
   * SamekeyModule.forRoot({ samekey, policy: 'payments', scope: (context) => accountOf(context) });
   * ```
   */
  static forRoot(options: ModuleOptions): DynamicModule {
    return SamekeyModule.forRootAsync({ useFactory: () => options });
  }

  /** For an instance that is made of other providers: `{ imports, inject, useFactory }`. */
  static forRootAsync({ imports = [], inject = [], useFactory }: AsyncModuleOptions): DynamicModule {
    return {
      module: SamekeyModule,
      global: true,
      imports,
      providers: [{ provide: SAMEKEY, inject, useFactory }],
      exports: [SAMEKEY],
    };
  }
}
