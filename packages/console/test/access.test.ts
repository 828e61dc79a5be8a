/** Who gets in, from where, and with which headers. */

import { type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { memoryStore } from 'samekey/stores/memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../../../tools/build-console.mjs';
import { createConsole } from '../src/index.ts';
import { SECRET, SENT, type Served, serveConsole } from './serving.ts';

const store = memoryStore();
const token = { secret: SECRET, actor: 'alice' };

describe('who is let in', () => {
  let served: Served;
  beforeAll(async () => {
    await buildConsole();
    served = await serveConsole({ store, path: '/ops/keys', token });
  });
  afterAll(() => served.close());
  const post = (path: string, headers: Record<string, string>, body = '{}') =>
    fetch(`${served.origin}/ops/keys/${path}`, { method: 'POST', headers, body });

  it('nobody by default: a console without a hook and a token is refused, and so is one with both', () => {
    expect(() => createConsole({ store })).toThrow(/either authorize.*or token/);
    expect(() => createConsole({ store, token, authorize: () => null })).toThrow(/either authorize/);
    expect(() => createConsole({ store, token: { secret: 'short', actor: 'a' } })).toThrow(/at least 32/);
    expect(() => createConsole({ store, token: { secret: `${SECRET} #&`, actor: 'a' } })).toThrow(/letters/);
    for (const origin of ['ops.example', 'https://ops.example/keys', 'ftp://ops.example', ''])
      expect(() => createConsole({ store, token, origin })).toThrow(/origin is a scheme and a host/);
    expect(() => createConsole({ store, token: { ...token, rights: ['setle' as 'settle'] } })).toThrow(
      /setle/,
    );
  });

  it('whoever has no token sees the page and its health, and no record', async () => {
    for (const verb of [
      'me',
      'overview',
      'records',
      'record',
      'audit',
      'letters',
      'act',
      'reveal',
      'erase',
      'nonsense',
    ])
      expect((await post(`api/${verb}`, SENT)).status).toBe(401);
    expect((await fetch(`${served.origin}/ops/keys/api/events`)).status).toBe(401);
    expect((await post('api/me', { ...SENT, authorization: 'Bearer wrong' })).status).toBe(401);
    expect(await (await fetch(`${served.origin}/ops/keys/health`)).json()).toEqual({ status: 'ok' });
  });

  it('a token becomes a cookie that no script reads, no other page sends, and no other path gets', async () => {
    expect((await post('api/session', SENT, JSON.stringify({ token: 'wrong' }))).status).toBe(401);
    const session = await post('api/session', SENT, JSON.stringify({ token: SECRET }));
    const cookie = session.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^samekey-console-[\w-]{8}=[\w-]{43}; Path=\/ops\/keys; HttpOnly; SameSite=Strict$/,
    );
    expect(cookie).not.toContain(SECRET);
    const me = await post('api/me', { ...SENT, cookie: `other=1; ${cookie.split(';')[0] ?? ''}` });
    expect(await me.json()).toMatchObject({ actor: 'alice', rights: [] });
    const forged = (cookie.split('=')[0] ?? '') + '=' + SECRET;
    expect((await post('api/me', { ...SENT, cookie: forged })).status).toBe(401);
  });

  it('its cookie goes over TLS alone where browsers see the console so, whatever the proxy asks', async () => {
    const made = createConsole({ store, token, origin: 'https://ops.example' });
    const asked = { method: 'POST', headers: SENT, body: JSON.stringify({ token: SECRET }) };
    const session = await made.fetch(new Request('http://10.0.0.1/api/session', asked));
    expect(session.headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it.each(['//evil.example/api/me', 'http://evil.example/api/me', '//evil.example/ops/keys/api/me'])(
    'takes no host from the address %s',
    async (path) => {
      const made = await serveConsole({ store, token });
      const headers = { ...SENT, authorization: `Bearer ${SECRET}`, origin: 'http://evil.example' };
      const { port } = new URL(made.origin);
      const status = await new Promise<number | undefined>((resolve, reject) => {
        send({ port, path, method: 'POST', headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end('{}');
      });
      expect([403, 405]).toContain(status);
      await made.close();
    },
  );

  it('knows its own host over HTTP/2', async () => {
    const made = createConsole({ store, token });
    const server = createHttp2Server((request, response) =>
      made.node(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    );
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const session = connect(origin);
    const ask = (from: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const sent = session.request({
          ...SENT,
          ':method': 'POST',
          ':path': '/api/me',
          authorization: `Bearer ${SECRET}`,
          origin: from,
        });
        sent.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
        sent.resume().end('{}');
      });
    expect(await ask(origin)).toBe(200);
    expect(await ask('http://localhost')).toBe(403);
    session.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ['without the header of the page', { 'content-type': 'application/json' }, 403],
    ['as a form of another page would', { ...SENT, 'content-type': 'text/plain' }, 415],
    ['from another host', { ...SENT, origin: 'https://evil.example' }, 403],
    ['from a sandboxed frame', { ...SENT, origin: 'null' }, 403],
    ['across sites', { ...SENT, 'sec-fetch-site': 'cross-site' }, 403],
    ['from a sister of the same site', { ...SENT, 'sec-fetch-site': 'same-site' }, 403],
  ])('refuses what is sent %s, with a right token', async (_name, headers, status) => {
    const answer = await post('api/records', { authorization: `Bearer ${SECRET}`, ...headers });
    expect(answer.status).toBe(status);
  });

  it('never allows another host to ask, and has guards on every answer', async () => {
    const preflight = await fetch(`${served.origin}/ops/keys/api/act`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(405);
    for (const path of ['', 'console.css', 'health', 'api/events', 'nothing']) {
      const { headers } = await fetch(`${served.origin}/ops/keys/${path}`);
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers.get('content-security-policy')).toMatch(
        /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      );
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('its page has no script and no style of its own, and names no other host', async () => {
    const page = await (await fetch(`${served.origin}/ops/keys/`)).text();
    expect(page).toContain('<samekey-console>');
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=")|<style|\son\w+=|style=|https?:\/\//);
  });

  it('stands below its path and nowhere else', async () => {
    const { origin } = served;
    expect((await fetch(`${origin}/`)).status).toBe(404);
    expect((await fetch(`${origin}/ops/keysx/health`)).status).toBe(404);
    const bare = await fetch(`${origin}/ops/keys`, { redirect: 'manual' });
    expect(bare.status).toBe(308);
    expect(new URL(bare.headers.get('location') ?? '', `${origin}/ops/keys`).pathname).toBe('/ops/keys/');
  });

  it('asks the host for each request, and a misspelt right is a fault and not none', async () => {
    const made = createConsole({
      store,
      authorize: (request) =>
        request.headers.get('x-user') === 'bob' ? { actor: 'bob', rights: ['settle'] } : null,
    });
    const ask = (user: string) =>
      made.fetch(
        new Request('http://h/api/me', { method: 'POST', headers: { ...SENT, 'x-user': user }, body: '{}' }),
      );
    expect(await (await ask('bob')).json()).toMatchObject({ actor: 'bob', rights: ['settle'] });
    expect((await ask('eve')).status).toBe(401);
    const wrong = createConsole({ store, authorize: () => ({ actor: 'x', rights: ['setle' as 'settle'] }) });
    const answer = await wrong.fetch(
      new Request('http://h/api/me', { method: 'POST', headers: SENT, body: '{}' }),
    );
    expect(answer.status).toBe(400);
  });

  it('takes no body beyond its bound, and no JSON that is no object', async () => {
    const signed = { ...SENT, authorization: `Bearer ${SECRET}` };
    expect((await post('api/records', signed, `{"x":"${'a'.repeat(1024 * 1024)}"}`)).status).toBe(413);
    for (const body of ['[]', 'null', '"x"', '{', '{"states":["no-state"]}', '{"limit":0}', '{"cursor":"x"}'])
      expect([body, (await post('api/records', signed, body)).status]).toEqual([body, 400]);
  });

  it('tells the application of an error of its own hook, and that nothing was done', async () => {
    const errors: unknown[] = [];
    const failed = new Error('session store down');
    const ops = createConsole({
      store,
      authorize: () => Promise.reject(failed),
      onError: (error) => errors.push(error),
    });
    const answer = await ops.fetch(
      new Request('http://ops.example/api/me', { method: 'POST', headers: SENT, body: '{}' }),
    );
    expect(answer.status).toBe(500);
    const said = await answer.text();
    expect(said).toContain('authorize-threw');
    expect(said).toContain('Nothing was done');
    expect(said).not.toContain('session store');
    expect(errors).toEqual([failed]);
  });

  it('tells a bug to nobody outside', async () => {
    const broken = Object.create(store, {
      list: { value: () => Promise.reject(new TypeError('inner words')) },
    });
    const made = await serveConsole({ store: broken, token });
    const answer = await made.ask('records');
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('inner words');
    await made.close();
  });
});

describe('as a middleware', () => {
  it('passes on what is not its own, and ends a stream whose reader has left', async () => {
    const made = createConsole({ store, path: '/console', token });
    const { createServer } = await import('node:http');
    const server = createServer((req, res) => made.node(req, res, () => res.end('the application')));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await (await fetch(`http://127.0.0.1:${port}/payments`)).text()).toBe('the application');
    const first = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${SECRET}` };
      const request = send({ port, path: '/console/api/events', headers }, (response) => {
        response.once('data', (data: Buffer) => {
          request.destroy();
          resolve(String(data));
        });
      });
      request.on('error', reject).end();
    });
    expect(first).toMatch(/^event: overview\ndata: \{/);
    await made.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
