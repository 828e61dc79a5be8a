/** One request of a customer, whose answer may get lost on the way. */

import { type Agent, type IncomingMessage, request } from 'node:http';

/** What to send. */
interface SendOptions {
  readonly url: string;
  readonly agent: Agent;
  readonly key: string;
  readonly body: string;
  /** When the connection breaks, in milliseconds from now; null for never. */
  readonly loseAfterMs: number | null;
  readonly signal: AbortSignal;
}

/** What came back. */
interface Answer {
  readonly status: number;
  readonly text: string;
  /** How long the server asks to wait before the next try; null when it does not. */
  readonly retryAfterMs: number | null;
}

/** Sends it. Resolves with null when the answer was lost. Rejects when `signal` is aborted. */
export function send(options: SendOptions): Promise<Answer | null> {
  const { url, agent, key, body, loseAfterMs, signal } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      agent,
      signal,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'Idempotency-Key': `"${key}"`,
      },
    });
    const timer =
      loseAfterMs === null ? undefined : setTimeout(() => void outgoing.destroy(), Math.ceil(loseAfterMs));
    const end = (answer: Answer | null): void => {
      clearTimeout(timer);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve(answer);
    };
    outgoing.once('error', () => end(null));
    outgoing.once('response', (incoming) => {
      readText(incoming).then(
        (text) => end({ status: incoming.statusCode ?? 0, text, retryAfterMs: retryAfterOf(incoming) }),
        () => end(null),
      );
    });
    outgoing.end(body);
  });
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString('utf8');
}

function retryAfterOf(incoming: IncomingMessage): number | null {
  const seconds = incoming.headers['retry-after'];
  return seconds === undefined ? null : Number(seconds) * 1000;
}
