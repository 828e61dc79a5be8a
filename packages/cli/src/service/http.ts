/**
 * The port of a service: `/metrics` for Prometheus, `/health` for whoever watches it. Nothing on it changes anything.
 */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { CliError, messageOf } from '../cli-error.ts';
import type { Health } from './health.ts';

/** An open port. */
interface ServicePort {
  readonly origin: string;
  close(): Promise<void>;
}

/** Opens it. Throws `CliError` when it cannot be had. */
export async function openPort(options: {
  readonly port: number;
  readonly host: string;
  readonly registry: Registry;
  readonly health: () => Promise<Health>;
}): Promise<ServicePort> {
  const { port, host, registry, health } = options;
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD')
      answer(response, 405, 'text/plain', 'GET only\n');
    else if (path === '/metrics')
      void registry.metrics().then(
        (text) => answer(response, 200, registry.contentType, text),
        () => answer(response, 500, 'text/plain', 'the metrics cannot be read\n'),
      );
    else if (path === '/health')
      void health().then((state) =>
        answer(response, state.status === 'ok' ? 200 : 503, 'application/json', `${JSON.stringify(state)}\n`),
      );
    else answer(response, 404, 'text/plain', '/metrics, /health\n');
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CliError(
      `The port ${port} of ${host} cannot be opened: ${messageOf(error)}. Choose another with --metrics-port (0: any free one).`,
    );
  }
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    origin: `http://${name}:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
}
