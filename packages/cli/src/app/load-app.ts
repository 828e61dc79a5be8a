/**
 * The user's application as a module: its default export says what `samekey worker`, `samekey reconcile` and the
 * operator's commands need of it. Either the object itself, or a function (it may be async) that makes it.
 *
 * `{ samekey, handlers?, worker?, reconcile?, close? }`: an instance with its operations defined; the handlers of
 * messages by topic; further options of `createWorker`; the operations of `createReconciler`; and what frees what the
 * module opened itself.
 */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Samekey } from 'samekey';
import type { WorkerOptions } from 'samekey/worker';
import { CliError, messageOf } from '../cli-error.ts';

/** What the module's default export is. */
export interface App {
  readonly samekey: Samekey<never>;
  readonly handlers?: WorkerOptions['handlers'];
  /** Options of `createWorker` besides `samekey`, `handlers` and `onEvent`. */
  readonly worker?: Omit<WorkerOptions, 'samekey' | 'store' | 'handlers' | 'onEvent' | 'probe'>;
  /** Options of `createReconciler` besides `samekey` and `onEvent`; at least `operations`. */
  readonly reconcile?: Readonly<Record<string, unknown>>;
  /** Called last, when everything of Samekey has stopped. */
  readonly close?: () => unknown;
}

const NAMES = ['samekey', 'handlers', 'worker', 'reconcile', 'close'];

/** Imports it. Throws `CliError` for a module that is not there, fails, or exports something else. */
export async function loadApp(path: string): Promise<App> {
  const exported = await imported(path);
  const app: unknown = typeof exported === 'function' ? await made(path, exported) : exported;
  if (typeof app !== 'object' || app === null || !('samekey' in app) || !isInstance(app.samekey)) {
    throw new CliError(
      `${path} must export by default { samekey, handlers?, worker?, reconcile?, close? }, or a function that makes it; samekey is what createSamekey returned.`,
    );
  }
  const unknown = Object.keys(app).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new CliError(
      `The default export of ${path} has a member "${unknown}" that nothing reads; it may have ${NAMES.join(', ')}.`,
    );
  }
  return app as App;
}

async function imported(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(resolve(path)).href)) as { readonly default?: unknown };
    return module.default;
  } catch (error) {
    throw new CliError(`The module ${path} cannot be loaded: ${messageOf(error)}`);
  }
}

async function made(path: string, make: unknown): Promise<unknown> {
  try {
    return await (make as () => unknown)();
  } catch (error) {
    throw new CliError(`The default export of ${path} failed: ${messageOf(error)}`);
  }
}

function isInstance(value: unknown): boolean {
  return (
    typeof (value as { readonly store?: { readonly claim?: unknown } } | null)?.store?.claim === 'function'
  );
}
