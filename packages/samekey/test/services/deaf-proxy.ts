/** A TCP proxy in front of a server that can go deaf: what the server answers is swallowed, nothing is closed. */

import { connect, createServer, type Socket } from 'node:net';

/** A running proxy. */
export interface DeafProxy {
  readonly url: string;
  /** From now on the connections that are open hear nothing; new ones work. */
  goDeaf(): void;
  close(): Promise<void>;
}

/** Starts one in front of the server of a URL. */
export async function startDeafProxy(target: string): Promise<DeafProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<{ readonly client: Socket; deaf: boolean }>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const pair = { client, deaf: false };
    open.add(pair);
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream
      .on('error', () => undefined)
      .on('close', () => {
        if (!pair.deaf) client.destroy();
      });
    client.on('data', (bytes) => void upstream.write(bytes));
    upstream.on('data', (bytes) => {
      if (!pair.deaf) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = new URL(target);
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: url.href,
    goDeaf() {
      for (const pair of open) pair.deaf = true;
    },
    async close() {
      for (const { client } of open) client.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
