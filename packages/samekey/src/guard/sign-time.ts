/**
 * The client's side of a signed request time. It runs wherever Web Crypto does.
 *
 * Invariant: the time is that of sending, so every retry is signed anew, under the same key.
 */

import { OptionsError } from '../core/errors.ts';
import { aFunction, anything, readOptions, required, type Table, text } from '../core/options.ts';
import { timeHeader, TIME_HEADER } from '../core/signed-time.ts';
import { systemWorld } from '../system.ts';

/** Who signs. */
export interface TimeSignerOptions {
  /** The secret's name, as the server knows it. */
  readonly name: string;
  /** The secret: 16 bytes or more. */
  readonly secret: Uint8Array;
  /** Milliseconds since 1970; default the machine's clock. */
  readonly now?: () => number;
}

/** The header of one request, as it is sent now. `url` is absolute, or a path with its query. */
export type TimeSigner = (request: {
  readonly method: string;
  readonly url: string;
  readonly key: string;
}) => Promise<readonly [name: string, value: string]>;

const ROWS = {
  name: required(text()),
  secret: required(anything<Uint8Array>()),
  now: aFunction<() => number>(),
} satisfies Table<TimeSignerOptions>;

/** Makes a signer. Throws `OptionsError`. */
export function timeSigner(options: TimeSignerOptions): TimeSigner {
  const { name, secret, now } = readOptions('timeSigner', ROWS, options);
  if (!/^[\w-]{1,40}$/.test(name))
    throw new OptionsError('The name of a secret is 1–40 letters, digits, "_" or "-".');
  if (!(secret instanceof Uint8Array) || secret.length < 16)
    throw new OptionsError('The secret has less than 16 bytes: use what the server was given.');
  const world = systemWorld();
  return async ({ method, url, key }) => {
    const { pathname, search } = new URL(url, 'http://path.invalid');
    const time = Math.floor((now?.() ?? world.wallNow()) / 1_000);
    return [
      TIME_HEADER,
      await timeHeader({ time, method, target: pathname + search, key }, name, secret, world),
    ];
  };
}
