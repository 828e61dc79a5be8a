/**
 * The page that an API publishes on its keys, in Markdown. Source: draft-ietf-httpapi-idempotency-key-header-07 §2.5 (a
 * resource publishes its idempotency specification, with its expiry), with what §2.1 to §2.7 leave to it: the key's
 * form and what it is unique for, the fingerprint, and errors.
 */

import { OptionsError } from '../core/errors.ts';
import { readOptions, type Table, text } from '../core/options.ts';
import { CHANGING, type Route } from '../coverage/listed-route.ts';
import { templateOf } from '../coverage/templates.ts';
import type { Door } from '../http/marker.ts';
import { casesOf } from './answers.ts';
import {
  comparedInWords,
  described,
  formInWords,
  placeInWords,
  timeHeaders,
  doorOfRoute,
} from './described.ts';
import { answerHeaders } from './operation-part.ts';
import { policyInWords, spoken } from './words.ts';

/** Options of {@link idempotencyPage}. */
export interface PageOptions {
  /** Its title; default `Sending requests again`. */
  readonly title?: string;
}

const ROWS = { title: text('Sending requests again') } satisfies Table<PageOptions>;

/** Routes of which the same is to be said. */
interface Rules {
  readonly door: Door;
  readonly routes: string[];
}

/**
 * The page of the routes that `routesOf(app)` of `samekey/coverage` lists. Throws `OptionsError` if none of them is
 * protected, or the options of one are not known.
 */
export function idempotencyPage(
  { routes }: { readonly routes: readonly Route[] },
  options: PageOptions = {},
): string {
  const { title } = readOptions('idempotencyPage', ROWS, options);
  const byText = new Map<string, Rules>();
  for (const route of routes.filter(({ protectedBy }) => protectedBy === 'samekey')) {
    const door = doorOfRoute(route);
    const rules = rulesOf(door);
    const same = byText.get(rules);
    if (same === undefined) byText.set(rules, { door, routes: [nameOf(route)] });
    else same.routes.push(nameOf(route));
  }
  if (byText.size === 0) throw new OptionsError('No route is protected: there is nothing to publish.');
  const others = routes.filter(
    ({ method, protectedBy }) => protectedBy !== 'samekey' && CHANGING.includes(method),
  );
  const all = [...byText];
  return `${[
    `# ${title}`,
    '',
    'A request whose answer was lost is sent again with the same key, and takes effect once. Requests and what they need:',
    '',
    '| request | key |',
    '| --- | --- |',
    ...all.flatMap(([, { door, routes: names }]) =>
      names.map((name) => `| ${name} | ${neededInWords(door)} |`),
    ),
    ...others.map((route) => `| ${nameOf(route)} | ${otherInWords(route)} |`),
    ...all.flatMap(([rules, { routes: names }]) => ['', `## ${names.join(', ')}`, '', rules]),
  ].join('\n')}\n`;
}

function nameOf({ method, path }: Route): string {
  return `\`${method} ${templateOf(path)}\``;
}

function neededInWords(door: Door): string {
  return `${door.required ? 'required' : 'optional: without one a retry takes effect again'}, ${placeInWords(described(door).key)}`;
}

function otherInWords({ protectedBy, reason }: Route): string {
  return protectedBy === 'exempt'
    ? `none: ${reason ?? ''}`
    : 'none is taken: a request that is sent again takes effect again';
}

function rulesOf(door: Door): string {
  const { settings, uniqueFor } = door;
  const also = timeHeaders(door);
  const headers = Object.entries(answerHeaders(door));
  return [
    `- **Key**: ${placeInWords(described(door).key)}; ${formInWords(door)}. A new random one for each intended operation, the same for each retry of it.`,
    `- **Unique for**: the caller${uniqueFor === 'operation' ? ' and the operation: the same key of another is another key' : ', whatever the operation: a key that was used for another one is refused'}.`,
    ...(also.length === 0
      ? []
      : [`- **Time**: in ${also.map((name) => `\`${name}\``).join(' and ')}; too old a request is refused.`]),
    `- **Compared (fingerprint)**: ${comparedInWords(door)}. Anything else under the same key is refused.`,
    `- **Kept for (expiry)**: ${spoken(settings.retentionMs)} from the first use on. ${afterwards(settings.tombstoneMs)}`,
    ...policyInWords(settings.policy).map((sentence) => `- **Answers**: ${sentence}`),
    `- **Headers of answers**: ${headers.map(([name, { description }]) => `\`${name}\` (${withoutStop(description)})`).join('; ')}.`,
    '',
    '| status | when | send it again? |',
    '| --- | --- | --- |',
    ...casesOf(door).map(
      ({ problem, answers: [{ status }] }) =>
        `| ${status} | ${cell(`${problem.title}. ${problem.detail}`)} | ${problem.retryable ? 'yes, later, with the same key' : 'not as it is'} |`,
    ),
  ].join('\n');
}

function afterwards(tombstoneMs: number): string {
  return tombstoneMs > 0
    ? `For ${spoken(tombstoneMs)} more it is refused as expired; after that it would run as a new one.`
    : 'After that it would run as a new one: do not send it again then.';
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

function cell(value: string): string {
  return value.replaceAll('|', '\\|');
}
