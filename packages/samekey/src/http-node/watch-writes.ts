/**
 * A response as those see it who are in front of the handler: it can be looked at freely, and whoever begins to answer
 * on it is noticed before anything is changed.
 */
import type { ServerResponse } from 'node:http';

/** What begins an answer, or changes one. */
const WRITERS = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'removeHeader',
  'writeHead',
  'write',
  'end',
  'flushHeaders',
  'addTrailers',
  'destroy',
];
const WRITTEN = ['statusCode', 'statusMessage'];

/** The same response; `written` is called before each change. */
export function watchWrites(res: ServerResponse, written: () => void): ServerResponse {
  return new Proxy(res, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!WRITERS.includes(String(name))) return value.bind(target);
      return (...args: unknown[]): unknown => {
        written();
        return (Reflect.get(target, name, target) as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
    set(target, name, value) {
      if (WRITTEN.includes(String(name))) written();
      return Reflect.set(target, name, value, target);
    },
  });
}
