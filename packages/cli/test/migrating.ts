/** Runs the built command to its end. */

import { postgresMigrations } from 'samekey/stores/postgres';
import { Command } from './running-demo.ts';

/** What a command has said, and how it ended. */
export interface Said {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs it; `env` is all of its environment but PATH. */
export async function said(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said> {
  const command = new Command(args, env);
  const code = await command.ended();
  return { code, stdout: command.stdout, stderr: command.stderr };
}

/** The names of all migrations for PostgreSQL, as the titles of the printed SQL tell them. */
export const MIGRATIONS: readonly string[] = Array.from(
  postgresMigrations({ service: 'shop' }).matchAll(/^-- \d{4} (.+)$/gm),
  ([, name]) => String(name),
);

/** The version that the command brings a database to: the number in the last title. */
export const NEEDED: number = Number(/.*^-- (\d{4}) /ms.exec(postgresMigrations({ service: 'shop' }))?.[1]);
