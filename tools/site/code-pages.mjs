/**
 * Framework × store × way → code. Nothing is written here: a program is the first block of the framework's guide with the block of the store's reference in
 * place of its store; the operations are those of docs/choose-your-way.md. tools/check-site compiles each of them.
 */
import { readText } from '../lib/files.mjs';
import { readMarkdown } from '../lib/markdown.mjs';

/** The page that asks. */
export const CODE = 'docs/code.md';

const FRAMEWORKS = [
  'express',
  'fastify',
  'nestjs',
  'koa',
  'hono',
  'fetch',
  'next',
  'lambda',
  'node',
  'trpc',
  'graphql',
];

/** What people call a store, and the heading of its reference. */
const STORES = {
  PostgreSQL: 'postgresStore(options)',
  MySQL: 'mysqlStore(options)',
  SQLite: 'sqliteStore(options)',
  DynamoDB: 'dynamodbStore(options)',
  Redis: 'redisStore(options)',
  'distributed PostgreSQL': 'distributedPostgresStore(options)',
};

/** What a way leaves behind is on its page; here is its code. */
const WAYS = { Transactional: 'transactions', Phased: 'phases', Deferred: 'deferred' };

/**
 * @param {string} root
 * @returns {Map<string, string>} pages by the files they would be
 */
export function codePages(root) {
  /** @type {Map<string, string>} */
  const pages = new Map();
  const names = FRAMEWORKS.map((framework) => ({ framework, name: titleOf(root, framework) }));
  for (const { framework, name } of names)
    pages.set(`docs/code/${framework}.md`, pageOf(root, framework, name));
  const rows = names.map(({ framework, name }) => `- [${name}](code/${framework}.md)`);
  pages.set(
    CODE,
    `# Code for your case

Where does your handler run, where do the records live, and what may a crash leave behind? [Choose your way](choose-your-way.md) helps with the third question.

<samekey-chooser></samekey-chooser>

Each program is put together from the guides and compiled with them. All programs of a framework, on one page:

${rows.join('\n')}
`,
  );
  return pages;
}

/**
 * The programs that no page of docs/ has, by a name: what is put together has to be compiled.
 * @param {string} root
 * @returns {Map<string, string>}
 */
export function programs(root) {
  /** @type {Map<string, string>} */
  const made = new Map();
  for (const framework of FRAMEWORKS)
    for (const [at, store] of Object.values(STORES).entries())
      made.set(`${framework}-${at}`, compose(firstBlock(root, framework), storeBlock(root, store)));
  return made;
}

/** @param {string} root @param {string} framework */
function titleOf(root, framework) {
  return readMarkdown(readText(root, `docs/guides/${framework}.md`)).headings[0]?.text ?? framework;
}

/** @param {string} root @param {string} framework */
function firstBlock(root, framework) {
  return tsBlocks(readText(root, `docs/guides/${framework}.md`))[0]?.code ?? '';
}

/** @param {string} text */
function tsBlocks(text) {
  return readMarkdown(text).blocks.filter(({ lang }) => lang === 'ts');
}

/** @param {string} root @param {string} heading */
function storeBlock(root, heading) {
  const text = readText(root, 'docs/reference/stores.md');
  const { headings } = readMarkdown(text);
  const from = headings.find((one) => one.text === heading)?.line ?? Number.NaN;
  const block = tsBlocks(text).find(({ line }) => line > from);
  if (block === undefined) throw new Error(`docs/reference/stores.md has no code below "${heading}".`);
  return block.code;
}

/**
 * The program with another store in it.
 * @param {string} program
 * @param {string} store
 */
export function compose(program, store) {
  // What a reference shows besides: how a migration is printed.
  const lines = store
    .replaceAll(/(?:\b\w+Migrations, )|(?:, \w+Migrations\b)/g, '')
    .split('\n')
    .filter((line) => !line.startsWith('console.log('));
  const imports = lines.filter((line) => line.startsWith('import '));
  const body = lines
    .filter((line) => !line.startsWith('import '))
    .join('\n')
    .trim();
  const instance = /^const samekey = createSamekey\(\{ store: .*\}\);$/m;
  if (!instance.test(program)) throw new Error('a first block of a guide makes no instance in one line');
  const kept = program
    .split('\n')
    .filter(
      (line) => !/^import .* from '(samekey\/stores\/.*|libsql|@aws-sdk\/client-dynamodb)';$/.test(line),
    );
  const last = kept.findLastIndex((line) => line.startsWith('import '));
  kept.splice(last + 1, 0, ...imports);
  return kept
    .join('\n')
    .replace(instance, () => `${body}\nconst samekey = createSamekey({ store });`)
    .trim();
}

/**
 * @param {string} root
 * @param {string} framework
 * @param {string} name
 */
function pageOf(root, framework, name) {
  const guide = `../guides/${framework}.md`;
  const plain = Object.entries(STORES).map(
    ([store, heading]) =>
      `## Plain, on ${store}\n\n${fence(compose(firstBlock(root, framework), storeBlock(root, heading)))}`,
  );
  const operations = tsBlocks(readText(root, 'docs/choose-your-way.md'));
  const served = tsBlocks(readText(root, `docs/guides/${framework}.md`)).find(({ code }) =>
    /\bserve\(/.test(code),
  );
  const ways = Object.entries(WAYS).map(([way, page], at) => {
    // The third is made of the second.
    const parts = way === 'Deferred' ? operations.slice(1, 3) : [operations[at]];
    const route =
      served === undefined
        ? `The route: \`serve\` of [the guide](${guide}).`
        : `The route, in place of Express's:\n\n${fence(withoutMark(served.code))}`;
    return `## ${way}

The operation, here with pg and a route of Express. Other databases and clients: [transactions](../guides/transactions.md).

${parts.map((block) => fence(withoutMark(block?.code ?? ''))).join('\n\n')}

${framework === 'express' ? '' : `${route}\n\n`}More: [the guide of this way](../guides/${page}.md).`;
  });
  return `# ${name}: code for your store and way

[The guide](${guide}) says what each line is for. \`migrate()\` belongs into your deploy once there is more than one process
([to production](../to-production.md)).

${[...plain, ...ways].join('\n\n')}
`;
}

/** @param {string} code */
function withoutMark(code) {
  return code.replace(/^\/\/ continues\n/, '');
}

/** @param {string} code */
function fence(code) {
  return `\`\`\`ts\n${code}\n\`\`\``;
}
