/**
 * The pages that `help` of an error, `type` of a problem document and `Link: rel="help"` lead to. Their words are those of docs/reference/errors.md and
 * of the table that the answers themselves are made from; so no code lacks a page, and no page speaks of a code that is gone.
 */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readText } from '../lib/files.mjs';
import { readMarkdown } from '../lib/markdown.mjs';
import { DOCS_URL } from './where.mjs';

/** @typedef {{ status: number, title: string, detail: string, retryable: boolean }} Problem */
/** @typedef {{ code: string, anchor: string, text: string }} Told what docs/reference/errors.md says of a code */

const WORDS = 'docs/reference/errors.md';
const TABLE = 'packages/samekey/dist/http/problem.js';

/** The page of all codes. */
export const ERRORS = 'docs/errors.md';

/**
 * The pages by the files they would be.
 * @param {string} root
 * @returns {Promise<Map<string, string>>}
 */
export async function errorPages(root) {
  if (!existsSync(join(root, TABLE))) throw new Error(`${TABLE} is not there: run \`npm run build\` first.`);
  /** @type {{ PROBLEMS: Record<string, Problem> }} */
  const { PROBLEMS } = await import(pathToFileURL(join(root, TABLE)).href);
  const told = sectionsOf(readText(root, WORDS));
  const thrown = told.filter(({ code }) => code.startsWith('ERR_'));
  const answered = Object.keys(PROBLEMS).map((code) => {
    const found = told.find((one) => one.code === code);
    if (found === undefined) throw new Error(`${WORDS} does not name ${code}.`);
    return found;
  });
  /** @type {Map<string, string>} */
  const pages = new Map();
  for (const one of thrown) pages.set(fileOf(one), thrownPage(one));
  for (const one of answered) pages.set(fileOf(one), answeredPage(one, PROBLEMS));
  pages.set(ERRORS, everyCode(thrown, answered, PROBLEMS));
  return pages;
}

/** @param {Told} told */
const fileOf = ({ anchor }) => `docs/errors/${anchor}.md`;

/**
 * @param {string} text
 * @returns {Told[]}
 */
function sectionsOf(text) {
  const lines = text.split('\n');
  const { headings } = readMarkdown(text);
  return headings
    .map(({ text: code, depth, line }, at) => ({
      code,
      depth,
      anchor: code.toLowerCase().replaceAll('_', '-'),
      text: lines
        .slice(line, (headings[at + 1]?.line ?? lines.length + 1) - 1)
        .join('\n')
        .trim(),
    }))
    .filter(({ depth }) => depth === 3);
}

/**
 * A text whose links lead to the same pages from another folder. The status at its beginning is told as one: "422. The key" would begin a list.
 * @param {string} text
 * @param {string} to
 */
function moved(text, to) {
  const told = text.replace(/^(\d{3})(, retryable)?\. /, '**Status $1.** ');
  return told.replaceAll(/\]\(([^)\s:#][^)\s:]*)\)/g, (_, /** @type {string} */ url) => {
    const [path = '', anchor] = url.split('#');
    const file = posix.join(posix.dirname(WORDS), path);
    return `](${posix.relative(to, file)}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

/** @param {boolean} retryable */
const whetherToRetry = (retryable) =>
  retryable
    ? 'The same request under the same key **may succeed later**: wait for `Retry-After`, then send it again unchanged.'
    : 'The same request under the same key **will not succeed by itself**: something has to change first.';

/** @param {Told} one */
function thrownPage(one) {
  return `# ${one.code}

${moved(one.text, 'docs/errors')}

Samekey throws it in your process. Recognise it by its \`code\`; the message says what to do, and carries no key, no body and no SQL text.

[Every code](../errors.md) · [All errors on one page](../reference/errors.md#${one.code.toLowerCase()})
`;
}

/**
 * @param {Told} one
 * @param {Record<string, Problem>} problems
 */
function answeredPage(one, problems) {
  const { status, title, detail, retryable } = /** @type {Problem} */ (problems[one.code]);
  const document = {
    type: `${DOCS_URL}/errors#${one.code}`,
    title,
    status,
    detail,
    code: one.code,
    retryable,
  };
  return `# ${one.code}

${moved(one.text, 'docs/errors')}

${whetherToRetry(retryable)}

## What the client is answered

\`\`\`json
${JSON.stringify(document, null, 2)}
\`\`\`

The route's [profile](../reference/options.md#of-a-protected-route) may give it another look or status. The \`code\` stays.

[Every code](../errors.md) · [What a request can meet](../reference/outcomes.md) · [How a client should retry](../guides/client.md)
`;
}

/** @param {Told} one */
const link = (one) => `[More on \`${one.code}\`](errors/${one.anchor}.md)`;

/**
 * One page with the anchors that links are made of.
 * @param {Told[]} thrown
 * @param {Told[]} answered
 * @param {Record<string, Problem>} problems
 */
function everyCode(thrown, answered, problems) {
  return `# Every code

You came from a link in an error or in an answer? Then you are at its code. First what a client is answered, then what Samekey throws.

## Answered

${answered
  .map((one) => {
    const { title, retryable } = /** @type {Problem} */ (problems[one.code]);
    return `### ${one.code}\n\n**${title}.** ${moved(one.text, 'docs')}\n\n${whetherToRetry(retryable)} ${link(one)}`;
  })
  .join('\n\n')}

## Thrown

${thrown.map((one) => `<a id="${one.anchor}"></a>\n\n### ${one.code}\n\n${moved(one.text, 'docs')} ${link(one)}`).join('\n\n')}
`;
}
