/**
 * `samekey verify`: judges an HTTP service as a black box and says in plain words what would double-charge whom.
 *
 * Exit codes: 0 every MUST that was asked holds · 2 one does not · 4 none was seen broken, and one could not be
 * judged · 1 the service could not be judged.
 */

import { writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { CliError, EXIT } from '../cli-error.ts';
import { duration } from '../operate/duration.ts';
import { say } from '../operate/print.ts';
import { PROFILE_NAMES } from '../verify/expectations.ts';
import { optionsOf, type VerifyFlags } from '../verify/command/flags.ts';
import { junitOf } from '../verify/command/junit.ts';
import { type VerifyReport, verify, verifyBadge, verifyMarkdown, verifyText } from '../verify/index.ts';

/** Also where the reports go. */
interface Flags extends VerifyFlags {
  readonly strict?: true;
  readonly json?: true;
  readonly junit?: string;
  readonly markdown?: string;
  readonly badge?: string;
}

/** The command. */
export function verifyCommand(): Command {
  return new Command('verify')
    .description('Judge whether an HTTP service is safe to retry, whatever it is written in')
    .argument('<url>', 'the operation; nothing but the URLs given is asked')
    .option('--method <method>', 'how it is called', 'POST')
    .option('--body <body>', 'a request that succeeds; {{uuid}} is another text for each intent', '{}')
    .option('--other-body <body>', 'another request of the same operation (default: made of --body)')
    .option('--header <line>', '"Name: value" of each request, such as a credential; repeat it', collect, [])
    .option('--tenant-b <line>', '"Name: value" of another tenant; repeat it', collect, [])
    .option(
      '--rotated <line>',
      '"Name: value" of another credential of the same caller; repeat it',
      collect,
      [],
    )
    .option('--count-url <url>', 'tells how many executions there were: a number, or JSON with --count-path')
    .option(
      '--count-path <path>',
      'where the number (or a list) stands in the JSON of --count-url, with dots',
    )
    .option('--count-command <command>', 'prints how many executions there were')
    .option('--count-field <path>', 'a member of the JSON answer that differs for each execution, such as id')
    .option(
      '--settle <duration>',
      'how long after an answer its effect may still come to be counted (default: 0)',
      duration,
    )
    .option(
      '--hold-param <name=value>',
      'a query parameter that makes the operation slow; repeat it',
      collect,
      [],
    )
    .option('--hold-header <line>', 'a header that makes it slow; repeat it', collect, [])
    .option('--hold-body <body>', 'a body that makes it slow')
    .option('--other-url <url>', 'another path of the service that takes the same body')
    .option('--get-url <url>', 'what GET reads, and what changes with an execution')
    .option('--refused-body <body>', 'a body that is refused for good (4xx)')
    .option('--failing-body <body>', 'a body that the handler fails on (5xx)')
    .addOption(
      new Option('--failing-expect <what>', 'what is declared for the retry of a 5xx')
        .choices(['retried', 'replayed', 'unknown'])
        .default('retried'),
    )
    .option('--expires <duration>', 'how long keys are remembered, if that is 10s or less', duration)
    .option('--store-down-command <command>', 'takes the store of the service away')
    .option('--store-up-command <command>', 'gives it back')
    .option('--key-optional', 'requests without a key are allowed')
    .option('--key-header <name>', 'the header of the key', 'Idempotency-Key')
    .option('--marker-header <name>', 'the header that says "this is a replay", if it is an unusual one')
    .option('--ignore-header <name>', 'a header that may differ on a replay; repeat it', collect, [])
    .addOption(new Option('--profile <name>', 'what is expected').choices(PROFILE_NAMES).default('ietf'))
    .option('--only <names>', 'scenarios to run, with commas')
    .option('--skip <names>', 'scenarios to leave out, with commas: what cannot be judged here, on purpose')
    .option('--rate <number>', 'requests per second, on average', '50')
    .option('--race <number>', 'requests of the larger race', '20')
    .option('--time-max <duration>', 'when no further scenario is begun (default: 60s)', duration, 60_000)
    .option('--strict', 'end with 2 on any fault, not only of a MUST')
    .option('--json', 'say it as one line of JSON')
    .option('--junit <file>', 'write JUnit XML')
    .option('--markdown <file>', 'write a page of Markdown')
    .option('--badge <file>', 'write the JSON of a badge, as shields.io reads it')
    .action(run);
}

async function run(url: string, flags: Flags): Promise<void> {
  const report = await verify(optionsOf(url, flags));
  say(flags.json === true ? report : verifyText(report));
  await write(flags.junit, () => junitOf(report));
  await write(flags.markdown, () => verifyMarkdown(report));
  await write(flags.badge, () => `${JSON.stringify(verifyBadge(report))}\n`);
  process.exitCode = exitCodeFor(report, flags.strict === true);
}

function exitCodeFor({ isClean, isComplete, findings }: VerifyReport, isStrict: boolean): number {
  if (!isClean || (isStrict && findings.some(({ verdict }) => verdict === 'fault'))) return EXIT.refused;
  // What nobody has seen is no pass; who means it names it in --skip (F92).
  if (!isComplete) return EXIT.notJudged;
  // What was asked is what the answer is about: nothing judged is no pass.
  return findings.some(({ verdict }) => verdict !== 'not-judged') ? 0 : EXIT.failed;
}

async function write(file: string | undefined, text: () => string): Promise<void> {
  if (file === undefined) return;
  try {
    await writeFile(file, text());
  } catch (error) {
    throw new CliError(
      `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value];
}
