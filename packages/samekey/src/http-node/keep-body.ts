/**
 * Keeps a body that was put back readable when the client hangs up (F17): Node would throw it away, the framework's
 * parser would report "request aborted" or hand on no body at all, and that answer would become the record's.
 *
 * Invariants: only for a request that has arrived whole · over as soon as the body has been read, or the request is
 * answered without a reader · everything but the end of the connection is the request's own.
 *
 * Sources: lib/_http_server.js (`abortIncoming` destroys requests under way); on-finished `isFinished` (looks at
 * `req.socket.readable`).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A body that was put back. Either `lend` or `drop` is to be called; what comes second does nothing. */
export class KeptBody {
  readonly #req: IncomingMessage;
  #gone: { readonly error: Error | undefined } | null = null;
  #isOpen = true;

  /** From now on the request outlives its connection. */
  constructor(req: IncomingMessage) {
    this.#req = req;
    req.destroy = (error) => {
      this.#gone ??= { error };
      // Read to its end although nobody was lent it: Node ends its streams by themselves.
      if (req.readableEnded) this.#letGo();
      return req;
    };
  }

  /**
   * Somebody is to read it, and finds it also when the connection is gone by then. Not sooner than that: a redefined
   * `socket` makes every read of the request slower (`asTables`), and a replay has no reader.
   */
  lend(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const req = this.#req;
    const { socket } = req;
    let view: Socket | undefined;
    // Made when somebody looks: most parsers never do.
    const get = (): Socket => (view ??= openView(socket));
    Object.defineProperty(req, 'socket', { configurable: true, enumerable: true, get });
    req.once('end', () => {
      // A view of somebody else has come in its place.
      if (Object.getOwnPropertyDescriptor(req, 'socket')?.get === get)
        Object.defineProperty(req, 'socket', {
          value: socket,
          configurable: true,
          enumerable: true,
          writable: true,
        });
      this.#letGo();
    });
  }

  /** Nobody reads it: the request is its connection's again. */
  drop(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#letGo();
  }

  #letGo(): void {
    const req = this.#req;
    delete (req as { destroy?: unknown }).destroy;
    if (this.#gone !== null) req.destroy(this.#gone.error);
  }
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
