/**
 * A report as JUnit XML, as CI systems read it: a fault is a failure, a MUST that cannot be judged is an error,
 * anything else is skipped and says why.
 */

import { create } from 'xmlbuilder';
import { harmless } from '../../operate/print.ts';
import type { VerifyReport } from '../index.ts';

/** Writes it. */
export function junitOf({ findings, leftOut, url, method, startedAt, durationMs }: VerifyReport): string {
  const count = (wanted: string): number => findings.filter(({ verdict }) => verdict === wanted).length;
  const open = findings.filter(({ verdict, level }) => verdict === 'not-judged' && level === 'MUST').length;
  const suite = create('testsuites', { version: '1.0', encoding: 'UTF-8' }).element('testsuite', {
    name: harmless(`samekey verify ${method} ${url}`),
    tests: findings.length,
    failures: count('fault'),
    errors: open,
    skipped: count('not-judged') - open,
    time: seconds(durationMs),
    timestamp: startedAt.replace(/\.\d+Z$/, ''),
  });
  if (leftOut.length > 0)
    suite.element('properties').element('property', { name: 'leftOut', value: leftOut.join(' ') });
  for (const finding of findings) {
    const { scenario, title, level, source, verdict, found, means } = finding;
    const test = suite.element('testcase', {
      classname: `verify.${level}`,
      name: `${scenario}: ${title}`,
      time: seconds(finding.durationMs),
    });
    // What a service answers is in no text but as status and counts; even so, XML takes no control characters.
    if (verdict === 'fault')
      test.element(
        'failure',
        { message: harmless(found), type: level },
        harmless(`${means ?? ''} (${source})`),
      );
    if (verdict === 'not-judged' && level === 'MUST')
      test.element('error', { message: harmless(found), type: 'not judged' });
    else if (verdict === 'not-judged') test.element('skipped', { message: harmless(found) });
  }
  return `${suite.end({ pretty: true })}\n`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
