/**
 * Keeps a body that was put back readable when the client hangs up (F17): Node would throw it away, the framework's
 * parser would report "request aborted" or hand on no body at all, and that answer would become the record's.
 *
 * Invariants: only for a request that has arrived whole · over as soon as the body has been read · everything but the
 * end of the connection is the request's own.
 *
 * Sources: lib/_http_server.js (`abortIncoming` destroys requests under way); on-finished `isFinished` (looks at
 * `req.socket.readable`).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Lets whoever reads next find the body, also when the connection is gone by then. */
export function keepBody(req: IncomingMessage): void {
  const { socket } = req;
  let view: Socket | undefined;
  let gone: { readonly error: Error | undefined } | null = null;
  // Before `destroy` is added, which is dear on a request whose prototype a framework has changed (node-exchange.ts).
  // Made when somebody looks: most parsers never do.
  const get = (): Socket => (view ??= openView(socket));
  Object.defineProperty(req, 'socket', { configurable: true, enumerable: true, get });
  req.destroy = (error) => {
    gone ??= { error };
    return req;
  };
  req.once('end', () => {
    delete (req as { destroy?: unknown }).destroy;
    // A view of somebody else has come in its place.
    if (Object.getOwnPropertyDescriptor(req, 'socket')?.get === get)
      Object.defineProperty(req, 'socket', {
        value: socket,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    if (gone !== null) req.destroy(gone.error);
  });
}

/** The socket, saying that it can be read. */
function openView(socket: Socket): Socket {
  return new Proxy(socket, {
    get(target, name) {
      if (name === 'readable') return true;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}
