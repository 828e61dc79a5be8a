/**
 * Why: an alert on a metric that does not exist never fires, and nobody sees it until it should have. Held to the catalogue of
 * packages/samekey/src/metrics: every metric, label and label value in the alerts and the dashboard; the tables of the reference
 * page. And every alert names a runbook that is there. Expressions are read by Prometheus's own grammar.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse as parseYaml } from 'yaml';
import { PACKAGE } from './lib/entries.mjs';
import { readText, walkFiles } from './lib/files.mjs';
import { readPromql } from './lib/promql.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/**
 * @typedef {object} Catalog
 * @property {readonly (readonly [string, { readonly kind: string, readonly unit: string, readonly labels: readonly string[], readonly meaning: string }])[]} metrics
 * @property {Readonly<Record<string, { readonly values: readonly string[] | null }>>} labels
 * @property {Readonly<Record<string, readonly [string, string]>>} lines of the log: level and text by type of event
 * @property {string} prefix
 */

const ALERTS = 'ops/prometheus/alerts.yaml';
const DASHBOARD = 'ops/grafana/dashboard.json';
const REFERENCE = 'docs/reference/metrics.md';
const RUNBOOKS = 'docs/runbooks';
const RUNBOOK_URL = 'https://samekey.example/runbooks/';
const SEVERITIES = ['page', 'ticket'];
/** Labels that Prometheus gives. */
const OF_PROMETHEUS = ['job', 'instance', 'le'];

/**
 * The series of the catalogue by their names in Prometheus, with their labels.
 * @param {Catalog} catalog
 * @returns {Map<string, readonly string[]>}
 */
function seriesOf({ metrics, prefix }) {
  /** @type {Map<string, readonly string[]>} */
  const series = new Map();
  for (const [name, { kind, labels }] of metrics) {
    const translated = `${prefix}${name}`.replaceAll('.', '_');
    if (kind === 'counter') series.set(`${translated}_total`, labels);
    else if (kind === 'gauge') series.set(translated, labels);
    else for (const part of ['bucket', 'sum', 'count']) series.set(`${translated}_${part}`, labels);
  }
  return series;
}

/**
 * What is wrong with an expression.
 * @param {string} expression
 * @param {Catalog} catalog
 * @returns {string[]}
 */
export function judgeExpression(expression, catalog) {
  // Variables of Grafana: what they stand for is not known here, that something does is.
  const text = expression.replaceAll(/\$__rate_interval|\$__range|\$__interval/g, '5m');
  const { selectors, groupings, broken } = readPromql(text);
  if (broken) return [`"${expression}" is no PromQL`];
  const series = seriesOf(catalog);
  /** @type {string[]} */
  const wrong = [];
  const known = new Set(OF_PROMETHEUS);
  for (const { metric, matchers } of selectors) {
    const labels = series.get(metric);
    if (labels === undefined) {
      wrong.push(`there is no metric ${metric || '(without a name)'}`);
      continue;
    }
    for (const label of labels) known.add(label);
    for (const { label, op, value } of matchers) {
      if (OF_PROMETHEUS.includes(label)) continue;
      if (!labels.includes(label)) wrong.push(`${metric} has no label ${label}`);
      const values = catalog.labels[label]?.values ?? null;
      if (values === null || value.startsWith('$')) continue;
      const asked = op.includes('~') ? value.split('|') : [value];
      for (const one of asked)
        if (!values.includes(one)) wrong.push(`${label} of ${metric} is never "${one}"`);
    }
  }
  for (const label of groupings)
    if (!known.has(label)) wrong.push(`"${expression}" groups by ${label}, which none of its metrics has`);
  return wrong;
}

/**
 * @param {string} root
 * @param {Catalog} catalog
 * @returns {Problem[]}
 */
function checkAlerts(root, catalog) {
  if (!existsSync(join(root, ALERTS))) return [{ file: ALERTS, message: 'does not exist' }];
  /** @type {{ groups?: { name: string, rules?: any[] }[] }} */
  const { groups = [] } = parseYaml(readText(root, ALERTS));
  /** @type {Problem[]} */
  const problems = [];
  const names = new Set();
  const runbooks = new Set();
  for (const rule of groups.flatMap(({ rules = [] }) => rules)) {
    const { alert, expr, labels, annotations } = rule;
    /** @param {string} message */
    const say = (message) => problems.push({ file: ALERTS, message: `${alert}: ${message}` });
    if (names.has(alert)) say('there are two of this name');
    names.add(alert);
    for (const message of judgeExpression(String(expr), catalog)) say(message);
    if (!SEVERITIES.includes(labels?.severity)) say(`its severity is one of ${SEVERITIES.join(', ')}`);
    for (const name of ['summary', 'description'])
      if (typeof annotations?.[name] !== 'string') say(`it needs the annotation ${name}`);
    const url = String(annotations?.runbook_url);
    const runbook = url.slice(RUNBOOK_URL.length);
    runbooks.add(runbook);
    if (!url.startsWith(RUNBOOK_URL)) say(`runbook_url begins with ${RUNBOOK_URL}`);
    else if (!existsSync(join(root, RUNBOOKS, `${runbook}.md`)))
      say(`its runbook ${RUNBOOKS}/${runbook}.md does not exist`);
    else if (!readText(root, `${RUNBOOKS}/${runbook}.md`).includes(`\`${alert}\``))
      say(`its runbook ${RUNBOOKS}/${runbook}.md does not name it`);
    const { groupings } = readPromql(String(expr));
    for (const [, label] of JSON.stringify(annotations ?? {}).matchAll(/\$labels\.(\w+)/g))
      if (!groupings.includes(String(label)))
        say(`an annotation shows ${label}, which its expression does not keep`);
  }
  const written = existsSync(join(root, RUNBOOKS)) ? readdirSync(join(root, RUNBOOKS)) : [];
  for (const page of written.filter((name) => name.endsWith('.md'))) {
    const file = `${RUNBOOKS}/${page}`;
    if (page !== 'README.md' && !runbooks.has(page.slice(0, -3)))
      problems.push({ file, message: `no alert of ${ALERTS} leads here` });
    for (const [at, line] of readText(root, file).split('\n').entries()) {
      for (const [, name] of line.matchAll(/`(Samekey[A-Z]\w+)`/g))
        if (!names.has(name)) problems.push({ file, line: at + 1, message: `there is no alert ${name}` });
    }
  }
  return problems;
}

/**
 * All `expr` and `query` texts below a node of the dashboard.
 * @param {any} node
 * @param {string} title of the panel
 * @returns {{ title: string, expr: string, legend: string }[]}
 */
function queriesOf(node, title = '') {
  if (Array.isArray(node)) return node.flatMap((one) => queriesOf(one, title));
  if (typeof node !== 'object' || node === null) return [];
  const here = typeof node.title === 'string' ? node.title : title;
  const own =
    typeof node.expr === 'string' ? [{ title: here, expr: node.expr, legend: node.legendFormat ?? '' }] : [];
  return [...own, ...Object.values(node).flatMap((one) => queriesOf(one, here))];
}

/**
 * @param {string} root
 * @param {Catalog} catalog
 * @returns {Problem[]}
 */
function checkDashboard(root, catalog) {
  if (!existsSync(join(root, DASHBOARD))) return [{ file: DASHBOARD, message: 'does not exist' }];
  const dashboard = JSON.parse(readText(root, DASHBOARD));
  /** @type {Problem[]} */
  const problems = [];
  for (const { title, expr, legend } of queriesOf(dashboard.panels)) {
    for (const message of judgeExpression(expr, catalog))
      problems.push({ file: DASHBOARD, message: `${title}: ${message}` });
    const { groupings } = readPromql(expr);
    for (const [, label] of legend.matchAll(/\{\{(\w+)\}\}/g))
      if (!groupings.includes(String(label)))
        problems.push({
          file: DASHBOARD,
          message: `${title}: its legend shows ${label}, which its query does not keep`,
        });
  }
  for (const { name, query } of dashboard.templating?.list ?? []) {
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(String(query?.query ?? query)) ?? [];
    if (metric === undefined) continue;
    for (const message of judgeExpression(`sum by (${label}) (${metric})`, catalog))
      problems.push({ file: DASHBOARD, message: `the variable ${name}: ${message}` });
  }
  return problems;
}

/** @param {string} text */
const code = (text) => `\`${text}\``;

/**
 * The tables of the reference page are the catalogue and the lines of the log.
 * @param {string} root
 * @param {Catalog} catalog
 * @returns {Problem[]}
 */
function checkReference(root, { metrics, prefix, lines }) {
  if (!existsSync(join(root, REFERENCE))) return [{ file: REFERENCE, message: 'does not exist' }];
  const rows = new Map(
    metrics.map(([name, { kind, unit, labels, meaning }]) => {
      const shown = labels.length === 0 ? '–' : labels.map(code).join(', ');
      return [
        `${prefix}${name}`,
        `| ${code(prefix + name)} | ${kind} | ${code(unit)} | ${shown} | ${meaning} |`,
      ];
    }),
  );
  for (const [type, [level, text]] of Object.entries(lines))
    rows.set(type, `| ${code(type)} | ${level} | ${text} |`);
  /** @type {Problem[]} */
  const problems = [];
  const written = readText(root, REFERENCE).split('\n');
  for (const [name, row] of rows) {
    if (!written.includes(row)) problems.push({ file: REFERENCE, message: `${name} needs the row: ${row}` });
  }
  return problems;
}

/**
 * What the pages call a metric is one, or what several begin with, in either of its names.
 * @param {string} root
 * @param {Catalog} catalog
 * @returns {Problem[]}
 */
function checkPages(root, catalog) {
  const names = [...seriesOf(catalog).keys(), ...catalog.metrics.map(([name]) => catalog.prefix + name)];
  /** @type {Problem[]} */
  const problems = [];
  for (const page of walkFiles(root, 'docs').filter((file) => file.endsWith('.md'))) {
    for (const [at, line] of readText(root, page).split('\n').entries()) {
      for (const [name] of line.matchAll(/\bapi[._]idempotency[._][a-z_.]*[a-z]/g)) {
        if (
          !names.some((one) => one === name || (/^[._]/.test(one.slice(name.length)) && one.startsWith(name)))
        )
          problems.push({ file: page, line: at + 1, message: `there is no metric ${name}` });
      }
    }
  }
  return problems;
}

/**
 * @param {string} root
 * @param {Catalog} catalog
 * @returns {Problem[]}
 */
export function checkOps(root, catalog) {
  return [
    ...checkAlerts(root, catalog),
    ...checkDashboard(root, catalog),
    ...checkReference(root, catalog),
    ...checkPages(root, catalog),
  ];
}

/**
 * The catalogue as it was built.
 * @param {string} root
 * @returns {Promise<Catalog>}
 */
async function builtCatalog(root) {
  const built = join(root, PACKAGE, 'dist/metrics/index.js');
  const { ALL_METRICS, LABELS, LOG_LINES, PREFIX } = await import(pathToFileURL(built).href);
  return { metrics: ALL_METRICS, labels: LABELS, lines: LOG_LINES, prefix: PREFIX };
}

if (isMain(import.meta.url)) report('ops', checkOps(ROOT, await builtCatalog(ROOT)));
