/** A server on the local machine, on a port that is free. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError } from '../cli-error.ts';

/** The port to listen on. */
export interface Port {
  readonly number: number;
  /** Whether the caller insists on it; else the next free one will do. */
  readonly asked: boolean;
}

/**
 * Only this machine: the demo has no real authentication. By number, since `localhost` may be another program on ::1.
 */
const HOST = '127.0.0.1';
const PORTS_TRIED_MAX = 20;

/** Listens. Throws `CliError` when the port is taken. */
export async function listen(
  listener: RequestListener,
  port: Port,
): Promise<{ readonly server: Server; readonly origin: string }> {
  const tried = port.asked ? 1 : PORTS_TRIED_MAX;
  for (let number = port.number; number < port.number + tried; number++) {
    const server = createServer(listener);
    try {
      server.listen(number, HOST);
      await once(server, 'listening');
      return { server, origin: `http://${HOST}:${(server.address() as AddressInfo).port}` };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EACCES')
        throw new CliError(`Port ${number} may not be used: choose one above 1023 with --port.`);
      if (code !== 'EADDRINUSE') throw new CliError(`Port ${number} cannot be used: ${message}.`);
    }
  }
  throw new CliError(
    port.asked
      ? `Port ${port.number} is in use: stop the program that uses it, or choose another with --port (0: any free one).`
      : `Ports ${port.number} to ${port.number + tried - 1} are all in use: choose another with --port (0: any free one).`,
  );
}
