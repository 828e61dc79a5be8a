/**
 * What must not be printed: passwords of the databases and services that the environment and the command line name
 * (F93). Messages of ours do not repeat them; this stands behind them, for what drivers, modules of an application and
 * the reader of the command line say.
 */

const HIDDEN = '…';
/** Variables that name a service, or hold a password. */
const NAMES = /(?:^|_)(?:URL|URI|DSN|PASSWORD|MYSQL_PWD|PGPASSWORD)$/i;
const PASSWORDS = /PASSWORD$|PWD$/i;
/** Where a password stands in a URL, also in one that no parser takes: between the user's colon and the last @. */
const IN_URL = /\/\/[^/:@\s]*:(.+)@/;
const ANY_URL = /(\/\/[^\s/:@'"]*):[^\s'"]*@/g;

let known: readonly string[] | undefined;

/** The text without them. */
export function withoutSecrets(text: string): string {
  known ??= secretsOf(process.env, process.argv.slice(2));
  let clean = text.replaceAll(ANY_URL, `$1:${HIDDEN}@`);
  for (const secret of known) clean = clean.replaceAll(secret, HIDDEN);
  return clean;
}

/** The longest first: whole addresses before their passwords. */
export function secretsOf(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
): readonly string[] {
  const found = new Set<string>();
  const add = (secret: string): void => {
    // A plain word may be part of any sentence of ours, and hiding it would tell that it is the password.
    if (secret.length >= SECRET_LENGTH_MIN && !/^[a-z]*$/i.test(secret)) found.add(secret);
  };
  const texts: string[] = args.map((arg) => arg.replace(/^--[\w-]+=/, ''));
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !NAMES.test(name)) continue;
    if (PASSWORDS.test(name)) add(value);
    else texts.push(value);
  }
  for (const text of texts) {
    if (text.includes('@') && text.includes(':')) add(text);
    const password = IN_URL.exec(text)?.[1] ?? passwordOf(text);
    if (password === undefined) continue;
    add(password);
    add(decoded(password));
    if (text.includes('@')) add(text.trim());
  }
  return [...found].toSorted((a, b) => b.length - a.length);
}

const SECRET_LENGTH_MIN = 4;

/** As a parameter of a URL, where some drivers take it too. */
function passwordOf(text: string): string | undefined {
  return /[?&]password=([^&#\s]+)/i.exec(text)?.[1];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
