/**
 * `samekey console`: a page on this machine to look at records and to act on them. Read-only unless rights are given.
 *
 * Exit codes: 0 stopped · 1 it failed · 2 rights were given and nobody is named who acts.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { CONSOLE_RIGHTS, type ConsoleRight, createConsole } from '@samekey/console';
import { CliError, messageOf } from '../cli-error.ts';
import { actorOf } from '../operate/act.ts';
import { someOf, wholeNumber } from '../operate/arguments.ts';
import { note, say } from '../operate/print.ts';
import { onTarget, osUser, type Target, type TargetFlags, withTarget } from '../operate/target.ts';

interface ConsoleFlags extends TargetFlags {
  readonly port: number;
  readonly host: string;
  readonly allow?: readonly (ConsoleRight | 'all')[];
  readonly actor?: string;
}

const PORT = 4280;
const PORT_MAX = 65_535;
const SECRET_BYTES = 32;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** The command. */
export function consoleCommand(): Command {
  const command = new Command('console')
    .description('Serve a page on this machine to look at records and, with --allow, to act on them')
    .option(
      '--allow <rights>',
      `what may be done beside looking, with commas: ${CONSOLE_RIGHTS.join(', ')}, or all (default: nothing)`,
      someOf([...CONSOLE_RIGHTS, 'all'] as const),
    )
    .option('--actor <name>', 'who acts, for the audit (default: the user of this machine)')
    .option('--port <port>', 'the port; 0 for any free one', wholeNumber(0, PORT_MAX), PORT)
    .option(
      '--host <host>',
      'the address to listen on; others than this machine can reach it then',
      '127.0.0.1',
    );
  return withTarget(command).action(run);
}

async function run(flags: ConsoleFlags): Promise<void> {
  const rights =
    flags.allow?.includes('all') === true ? CONSOLE_RIGHTS : ((flags.allow ?? []) as ConsoleRight[]);
  const actor =
    rights.length === 0
      ? (flags.actor ?? osUser() ?? 'somebody')
      : actorOf({ reason: '', ...(flags.actor === undefined ? {} : { actor: flags.actor }) });
  await onTarget(flags, actor, (target) => serve(target, flags, { actor, rights }));
}

async function serve(
  { store, shown, about }: Target,
  { port, host, json }: ConsoleFlags,
  user: { readonly actor: string; readonly rights: readonly ConsoleRight[] },
): Promise<void> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const console = createConsole({ store, token: { ...user, secret } });
  const server = createServer((request, response) => console.node(request, response));
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new CliError(
      `Port ${port} on ${host} cannot be used: ${messageOf(error)}. Choose another with --port.`,
    );
  }
  const at = (server.address() as AddressInfo).port;
  // Behind the hash: a browser sends that part to nobody, and no log has it.
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${at}/#token=${secret}`;
  if (json === true) say({ ...about, url, ...user });
  else {
    say(`Database: ${shown}`);
    say(`Rights: ${rightsInWords(user)}`);
    say(`Open:   ${url}`);
    say('Ctrl-C stops it.');
  }
  if (!LOOPBACK.includes(host))
    note(
      'Others can reach this address, and the token crosses their network in the clear: put TLS in front of it.',
    );
  await stopped();
  server.close();
  server.closeAllConnections();
  // The store is closed after this: a row of a job that is under way ends first.
  await console.close();
}

function rightsInWords({
  rights,
  actor,
}: {
  readonly rights: readonly string[];
  readonly actor: string;
}): string {
  return rights.length === 0 ? 'looking only (--allow gives more)' : `${rights.join(', ')}, as ${actor}`;
}

/** Ctrl-C, SIGTERM, or the end of the terminal. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve());
  });
}
