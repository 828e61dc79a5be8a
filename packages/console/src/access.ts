/**
 * Who may ask, and from where.
 *
 * Invariants: nothing but the page's own files and the health endpoint is given to whoever is nobody · what is asked
 * by POST comes from this page or from a program: a page of another host can neither send the header nor this type of
 * body without asking first, and is never told that it may · a secret is compared in constant time, and stands in no
 * address, log or page.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { ConsoleFault } from './fault.ts';
import { type CheckedOptions, type ConsoleToken, type ConsoleUser, readUser } from './options.ts';

/**
 * Browsers send a header of such a name to other hosts only after these have allowed it, which the console never does.
 */
const HEADER = 'x-samekey-console';

/** Says who asks. Throws `ConsoleFault` for whoever may not look. */
export async function userOf(
  request: Request,
  { authorize, token }: Pick<CheckedOptions, 'authorize' | 'token'>,
): Promise<Required<ConsoleUser>> {
  if (token !== undefined) {
    if (!hasToken(request, token)) throw nobody();
    return { actor: token.actor, rights: token.rights };
  }
  const user = await askedHost(request, authorize);
  if (user === null) throw nobody();
  return readUser(user);
}

/** What the application says. An error of its own is told to it, and nothing was done. */
async function askedHost(
  request: Request,
  authorize: CheckedOptions['authorize'],
): Promise<ConsoleUser | null> {
  try {
    return (await authorize?.(request)) ?? null;
  } catch (cause) {
    throw new ConsoleFault(
      500,
      'authorize-threw',
      'Nothing was done: the application failed while it was asked who you are. Its log says why.',
      { cause },
    );
  }
}

function nobody(): ConsoleFault {
  return new ConsoleFault(
    401,
    'nobody',
    'You are not signed in here, or your session is over. Open the console by its whole address again.',
  );
}

function hasToken(request: Request, token: ConsoleToken): boolean {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (bearer !== undefined) return isSame(bearer, token.secret);
  const wanted = cookieOf(token);
  return (request.headers.get('cookie') ?? '').split(';').some((each) => {
    const [name, value = ''] = each.trim().split('=');
    return name === wanted.name && isSame(value, wanted.value);
  });
}

/** The cookie of a session. Its value is no secret of the host's, and dies with the token. */
export function cookieOf(token: ConsoleToken): { readonly name: string; readonly value: string } {
  const of = (what: string): string =>
    createHash('sha256').update(`samekey-console ${what}\n${token.secret}`).digest('base64url');
  // Two consoles on two ports of one machine share their cookies.
  return { name: `samekey-console-${of('name').slice(0, 8)}`, value: of('session') };
}

/** Whether the secret that somebody gave is the token's. */
export function isToken(given: unknown, token: ConsoleToken): boolean {
  return typeof given === 'string' && isSame(given, token.secret);
}

function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

/** Throws `ConsoleFault` for what a page of another host may have sent. */
export function refuseForeign(request: Request, origin: string | undefined): void {
  const site = request.headers.get('sec-fetch-site');
  const from = request.headers.get('origin');
  const own = origin ?? new URL(request.url).origin;
  const isForeign =
    (site !== null && site !== 'same-origin' && site !== 'none') ||
    // Behind a proxy that ends TLS the scheme is another one; the host is not.
    (from !== null && hostOf(from) !== hostOf(own));
  if (isForeign)
    throw new ConsoleFault(403, 'foreign', 'This was sent by a page of another host; nothing was done.');
}

/** The same, for what is asked by POST. */
export function refuseForged(request: Request, origin: string | undefined): void {
  refuseForeign(request, origin);
  if (request.headers.get(HEADER) !== '1')
    throw new ConsoleFault(403, 'foreign', `The header ${HEADER}: 1 is missing; nothing was done.`);
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    throw new ConsoleFault(415, 'type', 'The body must be application/json.');
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return '';
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
