/** What the check of the demo says when the demo is not safe to retry. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { verifyDemo } from '../verify-demo.mjs';

it('a demo that charges every request is a problem, by the names of the scenarios', {
  timeout: 120_000,
}, async () => {
  let charges = 0;
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      if (req.method === 'POST') charges += 1;
      res.writeHead(req.method === 'POST' ? 201 : 200).end(JSON.stringify({ charges }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const problems = await verifyDemo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const messages = problems.map(({ message }) => message);
    expect(messages).toContain('runs-once: fault: three requests under one key, 3 executions');
    expect(messages.length).toBeGreaterThan(10);
  } finally {
    server.close();
  }
});

it('a demo that does not answer is a problem', { timeout: 60_000 }, async () => {
  const [problem] = await verifyDemo('http://127.0.0.1:1');
  expect(problem?.message).toContain('ended with 1');
});
