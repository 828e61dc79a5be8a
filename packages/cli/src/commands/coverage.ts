/**
 * `samekey coverage`: which state-changing routes of an application, or of an OpenAPI document, are not protected, and
 * where the two say different things. It also writes the page that the application publishes on its keys.
 *
 * Exit codes: 0 all are protected or exempt · 2 not all, a part could not be looked into, or the document says
 * something else · 1 there was nothing to look at.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import {
  type CoverageOptions,
  coverage,
  coverageText,
  type Exemption,
  isListable,
  routesOf,
} from 'samekey/coverage';
import { idempotencyPage } from 'samekey/openapi';
import { parse } from 'yaml';
import { CliError, EXIT } from '../cli-error.ts';
import { say } from '../operate/print.ts';

interface CoverageFlags {
  readonly export: string;
  readonly exempt?: string;
  readonly header?: string;
  readonly passes?: string;
  readonly openapi?: string;
  readonly page?: string;
  readonly json?: true;
}

/** The command. */
export function coverageCommand(): Command {
  return new Command('coverage')
    .description('Say which state-changing routes are not protected')
    .argument('<module or document>', 'an application as a module of JavaScript, or an OpenAPI 3 document')
    .option('--export <name>', 'which export of the module', 'default')
    .option('--exempt <file>', 'a JSON or YAML list of { path, method?, reason }')
    .option('--passes <names>', 'functions in front of routes that only pass requests on: jsonParser,cors')
    .option('--header <name>', 'OpenAPI: the header that carries the key (default: Idempotency-Key)')
    .option('--openapi <file>', 'the OpenAPI document of the application: say where it says something else')
    .option('--page <file>', 'write the page on keys that the application publishes, in Markdown')
    .option('--json', 'say it as one line of JSON')
    .action(run);
}

async function run(path: string, flags: CoverageFlags): Promise<void> {
  try {
    await report(path, flags);
  } finally {
    // Whatever the module has opened would hold the process; what there is to say goes out first.
    setImmediate(() => process.stdout.write('', () => process.stderr.write('', () => process.exit())));
  }
}

async function report(path: string, flags: CoverageFlags): Promise<void> {
  const { app, options: own } = DOCUMENTS.includes(extname(path))
    ? { app: await document(path), options: {} }
    : await application(path, flags.export);
  const options: CoverageOptions = {
    ...own,
    ...(flags.exempt !== undefined && { exempt: await exemptions(flags.exempt) }),
    ...(flags.passes !== undefined && { passes: flags.passes.split(',').map((name) => name.trim()) }),
    ...(flags.header !== undefined && { header: flags.header }),
    ...(flags.openapi !== undefined && { document: (await document(flags.openapi)) as object }),
  };
  const found = coverage(app, options);
  if (flags.page !== undefined) await writePage(flags.page, idempotencyPage(routesOf(app, options)));
  say(flags.json === true ? found : coverageText(found));
  process.exitCode = found.isFull ? 0 : EXIT.refused;
}

const DOCUMENTS: readonly string[] = ['.yaml', '.yml', '.json'];

/** YAML, of which JSON is a part. */
async function document(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new CliError(`${path} cannot be read: ${messageOf(error)}`);
  }
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw new CliError(`${path} is neither JSON nor YAML: ${messageOf(error).split('\n')[0] ?? ''}`);
  }
}

async function writePage(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page);
  } catch (error) {
    throw new CliError(`${path} cannot be written: ${messageOf(error)}`);
  }
}

async function exemptions(path: string): Promise<readonly Exemption[]> {
  const list = await document(path);
  if (Array.isArray(list)) return list as readonly Exemption[];
  throw new CliError(`${path} is no list: write { path, method?, reason } for each route.`);
}

/** The application, and what its module says of it. */
interface Loaded {
  readonly app: unknown;
  readonly options: CoverageOptions;
}

async function application(path: string, name: string): Promise<Loaded> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module;
  } catch (error) {
    throw new CliError(`The module ${path} cannot be loaded: ${messageOf(error)}`);
  }
  if (!(name in module)) {
    throw new CliError(
      `The module ${path} has no export "${name}"; it has ${Object.keys(module).join(', ') || 'none'}: choose with --export.`,
    );
  }
  const exported = module[name];
  const options = (module['coverageOptions'] ?? {}) as CoverageOptions;
  // An application of Express is a function too.
  if (isListable(exported) || typeof exported !== 'function') return { app: exported, options };
  try {
    return { app: await (exported as () => unknown)(), options };
  } catch (error) {
    throw new CliError(`The export "${name}" of ${path} failed: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
