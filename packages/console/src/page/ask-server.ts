/** What the page asks its server. Keys stand in bodies, never in an address. */

import type { Fault, Overview } from '../api.ts';

/** What the server refused, in its words. */
export class AskFault extends Error {
  override readonly name = 'AskFault';
  readonly code: string;

  constructor({ code, message }: Fault) {
    super(message);
    this.code = code;
  }
}

/** Asks a verb. Throws `AskFault`. */
export async function ask<Answer>(verb: string, body: object = {}): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(`api/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Samekey-Console': '1' },
      body: JSON.stringify(body),
    });
  } catch {
    throw new AskFault({ code: 'away', message: 'The console does not answer. Is it still running?' });
  }
  const answer = (await response.json().catch(() => null)) as unknown;
  if (response.ok && answer !== null) return answer as Answer;
  const isFault = answer !== null && typeof (answer as Fault).message === 'string';
  throw new AskFault(isFault ? (answer as Fault) : { code: 'odd', message: `Status ${response.status}.` });
}

/** A token in the address becomes a session, and leaves the address. */
export async function signIn(): Promise<void> {
  const token = /^#token=(.*)$/s.exec(location.hash)?.[1];
  if (token === undefined) return;
  // Also what is no token: it may be one with something behind it, and is to stand in no history.
  history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  await ask('session', { token });
}

/** Hears of overviews until it is told to stop. A browser connects again by itself. */
export function listen(told: (overview: Overview) => void, live: (isLive: boolean) => void): () => void {
  const source = new EventSource('api/events');
  source.addEventListener('overview', (event) => {
    live(true);
    told(JSON.parse(event.data as string) as Overview);
  });
  source.addEventListener('fault', () => live(false));
  source.addEventListener('error', () => live(false));
  return () => source.close();
}
