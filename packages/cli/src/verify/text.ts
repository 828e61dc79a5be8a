/** The report for people, as lines or as Markdown, and for a badge. */

import { type Finding, mustsThatAre, summary, type VerifyReport } from './findings.ts';

const WORDS: Readonly<Record<Finding['verdict'], string>> = {
  held: 'held',
  fault: 'FAULT',
  'not-judged': 'not judged',
};

/** Lines for a terminal: a table, then each fault in plain words. */
export function verifyText(report: VerifyReport): string {
  const width = Math.max(...report.findings.map(({ scenario }) => scenario.length), 8);
  const rows = report.findings.map(
    ({ scenario, level, verdict, found }) =>
      `${WORDS[verdict].padEnd(10)}  ${level.padEnd(11)}  ${scenario.padEnd(width)}  ${plain(found)}`,
  );
  const faults = report.findings.filter(({ verdict }) => verdict === 'fault').flatMap(explained);
  return [
    `${report.method} ${report.url} (profile ${report.profile})`,
    '',
    ...rows,
    '',
    ...faults,
    ...remarksOn(report).map((remark) => `${remark}\n`),
    `${summary(report)}. ${report.requests} requests in ${(report.durationMs / 1000).toFixed(1)} s.`,
  ].join('\n');
}

/** What the counts do not say: which MUSTs nobody knows about. */
function remarksOn(report: VerifyReport): string[] {
  const open = mustsThatAre(report, 'not-judged');
  const { leftOut } = report;
  return [
    ...(open.length === 0
      ? []
      : [
          `Required, and not judged: ${open.join(', ')}. Give what each asks for, or leave it out on purpose with --skip.`,
        ]),
    ...(leftOut.length === 0 ? [] : [`Required, and left out on purpose: ${leftOut.join(', ')}.`]),
  ];
}

function explained({ scenario, level, title, found, means, source }: Finding): string[] {
  return [
    `${scenario} (${level}): ${title}`,
    `  seen:   ${found}`,
    `  means:  ${means ?? ''}`,
    `  source: ${source}`,
    '',
  ];
}

/** The words "not judged" stand in the first column already. */
function plain(found: string): string {
  return found.replace(/^not judged: /, '');
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll(/\s+/g, ' ');
}

/** A page in Markdown. */
export function verifyMarkdown(report: VerifyReport): string {
  const rows = report.findings.map(
    ({ scenario, level, verdict, found, title }) =>
      `| ${WORDS[verdict]} | ${level} | \`${scenario}\` | ${cell(title)} | ${cell(plain(found))} |`,
  );
  const faults = report.findings
    .filter(({ verdict }) => verdict === 'fault')
    .flatMap(({ scenario, found, means, source }) => [
      `- **\`${scenario}\`**: ${found}. ${means ?? ''} (${source})`,
    ]);
  return [
    `# Is ${report.method} ${report.url} safe to retry?`,
    '',
    `${summary(report)}. Profile ${report.profile}, ${report.requests} requests, ${report.startedAt}.`,
    '',
    '| | level | scenario | what | seen |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    ...(faults.length === 0 ? [] : ['', '## Faults', '', ...faults]),
    ...remarksOn(report).flatMap((remark) => ['', remark]),
    '',
  ].join('\n');
}

/** What shields.io takes as an endpoint badge (https://shields.io/badges/endpoint-badge). */
export interface Badge {
  readonly schemaVersion: 1;
  readonly label: string;
  readonly message: string;
  readonly color: string;
}

/**
 * The badge of a report. Green only if every MUST that was asked was judged and holds; it says how many were left out.
 */
export function verifyBadge(report: VerifyReport): Badge {
  const musts = report.findings.filter(({ level }) => level === 'MUST');
  const held = musts.filter(({ verdict }) => verdict === 'held').length;
  const faults = musts.filter(({ verdict }) => verdict === 'fault').length;
  const color = faults > 0 ? 'red' : held === musts.length && held > 0 ? 'brightgreen' : 'yellow';
  const said = faults > 0 ? `${faults} of ${musts.length} broken` : `${held} of ${musts.length} hold`;
  const message = report.leftOut.length === 0 ? said : `${said}, ${report.leftOut.length} left out`;
  return { schemaVersion: 1, label: 'safe to retry', message, color };
}
