/**
 * The socket as the application sees it on a captured response. `on-finished` (and so `send`, `sendFile`) watches
 * `res.socket` rather than `res`: it would stop a file half-way when the client hangs up (F17).
 *
 * Invariants: the view says "open" until the answer has been let go; `close` and `error` listeners added through it
 * wait until then; everything else is the real socket. Node's own methods see the real one.
 *
 * `socket` is an own data property of a response before Node 24, an accessor of its prototype since.
 */
import { EventEmitter } from 'node:events';
import { OutgoingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { captureOf, type CaptureState, type SocketView } from './capture-state.ts';

const nodeAccessor = Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, 'socket');

const ACCESSOR: PropertyDescriptor & ThisType<ServerResponse> = {
  configurable: true,
  enumerable: true,
  get(): unknown {
    const c = captureOf(this);
    if (c === undefined) return null;
    const socket = realSocket(c);
    return c.inside || socket === null ? socket : (c.view ??= viewOf(c, socket)).socket;
  },
  set(socket: unknown) {
    const c = captureOf(this);
    if (c === undefined) return;
    if (nodeAccessor?.set === undefined) c.socket = socket;
    else nodeAccessor.set.call(this, socket);
  },
};

/** Puts the view in place of `res.socket`; it is made when somebody looks. */
export function hideSocket(c: CaptureState): void {
  if (nodeAccessor === undefined) c.socket = c.res.socket;
  c.socketHidden = true;
  Object.defineProperty(c.res, 'socket', ACCESSOR);
}

/** Puts the real socket back; listeners that waited are its own from now on, or hear of the close that was. */
export function showSocket(c: CaptureState): void {
  if (!c.socketHidden) return;
  c.socketHidden = false;
  const socket = realSocket(c);
  if (nodeAccessor === undefined) {
    const plain = { value: socket, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(c.res, 'socket', plain);
  } else delete (c.res as { socket?: unknown }).socket;
  const waiting = c.view?.waiting;
  if (waiting === undefined || socket === null) return;
  if (c.gone) setImmediate(() => waiting.emit('close', false));
  else
    for (const event of WAITING)
      for (const listener of waiting.rawListeners(event)) socket.on(event, listener as () => void);
}

/** The socket itself; null while an earlier answer of a pipelined connection is still under way. */
export function realSocket(c: CaptureState): Socket | null {
  return (nodeAccessor?.get === undefined ? c.socket : nodeAccessor.get.call(c.res)) as Socket | null;
}

const WAITING = ['close', 'error'] as const;

function viewOf(c: CaptureState, socket: Socket): SocketView {
  const waiting = new EventEmitter();
  waiting.on('error', () => {});
  const over = (): boolean => !c.socketHidden;
  const own: Record<string, unknown> = {};
  for (const name of ['on', 'addListener', 'once', 'prependListener', 'prependOnceListener'] as const) {
    own[name] = (event: string, listener: () => void): unknown => {
      const waits = !over() && (event === 'close' || event === 'error');
      (waits ? waiting : socket)[name](event, listener);
      return view;
    };
  }
  own['off'] = own['removeListener'] = (event: string, listener: () => void): unknown => {
    waiting.off(event, listener);
    socket.off(event, listener);
    return view;
  };
  own['destroy'] = (error?: Error): unknown => {
    c.res.destroy(error);
    return view;
  };
  const view: Socket = new Proxy(socket, {
    get(target, name) {
      if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name];
      if (!over() && name === 'destroyed') return false;
      if (!over() && name === 'writable') return true;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  return { socket: view, waiting };
}
