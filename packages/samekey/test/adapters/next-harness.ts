/** Route handlers as Next.js calls them: behind a proxy of a request of its own class, with parameters as a promise. */

import { idempotent } from '../../src/adapters/next/index.ts';
import type { AdapterHarness } from '../../../testing/src/adapter-contract.ts';
import { fetchHarness, listen, matches, responseOf, seen } from './fetch-harness.ts';

/** As `NextRequest`: a class of its own, made from a request or an address. */
export class OwnRequest extends Request {
  get nextUrl(): URL {
    return new URL(this.url);
  }
}

/** As Next does before it calls a handler: methods are bound, getters are those of the request beneath. */
export function proxied<Incoming extends Request>(request: Incoming): Incoming {
  return new Proxy(request, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' && name !== 'constructor' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The harness of the Next.js adapter. */
export const nextHarness: AdapterHarness = {
  ...fetchHarness,
  name: 'Next.js',
  serve(samekey, routes) {
    const apps = routes.map((route) => ({
      route,
      app: idempotent(
        samekey,
        { ...route.options, scope: ({ request }) => route.scope(seen(request)) as string[] },
        async (request, _context, attempt) => {
          const body = new Uint8Array(await request.arrayBuffer());
          return responseOf(await route.handler({ ...seen(request), method: request.method, body, attempt }));
        },
      ),
    }));
    return listen(async (request) => {
      const found = apps.find(({ route }) => matches(route, new URL(request.url).pathname));
      if (found === undefined) return new Response('not found', { status: 404 });
      if (!found.route.isAllowed(seen(request))) return new Response('refused', { status: 403 });
      const own = proxied(new OwnRequest(request));
      if (found.route.isBodyTaken) await own.text();
      return found.app(own, { params: Promise.resolve({}) });
    });
  },
  protect: (samekey, options) => idempotent(samekey, options as never, () => new Response()),
};
