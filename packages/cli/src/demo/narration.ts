/** Everything the demo prints, in one place. */

import type { ChaosLedger } from './chaos.ts';
import { FAULTS } from './faults.ts';
import type { LoadLedger, LoadProgress } from './load-ledger.ts';
import type { ProviderCall } from './provider.ts';
import type { RequestSeen } from './request-log.ts';
import type { Try } from './tries.ts';

/** Writes a line. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** `samekey demo | head` closes the pipe: that is no reason to stop payments half-way. */
export function outliveReader(): void {
  process.stdout.on('error', () => undefined);
}

/** Says where the demo runs. */
export function sayWhere(origin: string, folder: string, hasPages: boolean): void {
  say('Samekey demo: a payments API whose requests may be retried, with a worker and a payment provider');
  say();
  say(`  API   ${origin}`);
  if (hasPages)
    say(`  Page  ${origin}/ in a browser: see what happens; ${origin}/live: buttons for this API`);
  say(`  Data  ${folder} (kept; remove it to start anew): the shop's file, and the provider's`);
  say();
}

/** Says that the API runs without the explainer. */
export function sayNoExplainer(folder: string): void {
  say(`  The explainer is not in ${folder}: its page could not be made. The API runs without it.`);
  say();
}

/** Says what to try. */
export function sayTries(things: readonly Try[]): void {
  say('To try, in another terminal:');
  for (const [index, { title, see, command }] of things.entries()) {
    say();
    say(`${index + 1}. ${title}`);
    say(`   You see: ${see}.`);
    say();
    say(command);
  }
  say();
  say(`With -H 'Authorization: Bearer tenant-b' you are another tenant, whose keys are its own.`);
  say('Ctrl-C stops the demo.');
  say();
}

/** One line for one call of the provider. */
export function sayCall({ what, reference, status, durationMs }: ProviderCall): void {
  say(
    [
      clock(),
      `  ${what} at the provider`.padEnd(26),
      String(status ?? 'no answer').padEnd(11),
      `${reference.slice(0, 12)}…`,
      `${Math.round(durationMs)} ms`,
    ].join('  '),
  );
}

/** One line for one request. */
export function sayRequest(seen: RequestSeen): void {
  const attempt = seen.attempt === null ? '' : `attempt ${seen.attempt}`;
  say(
    [
      clock(),
      `${seen.method.padEnd(4)} ${seen.path}`.padEnd(20),
      String(seen.status ?? 'gone').padEnd(4),
      (seen.outcome ?? '').padEnd(12),
      attempt.padEnd(10),
      `${Math.round(seen.durationMs)} ms`,
      seen.status === null ? goneRemark(seen) : '',
    ]
      .join('  ')
      .trimEnd(),
  );
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8);
}

function goneRemark({ outcome }: RequestSeen): string {
  // Nothing but a finished attempt outlives its client; who only waited for another's answer just leaves.
  return outcome === 'executed' ? 'the client hung up; its retry gets the answer' : 'the client hung up';
}

/** How far a load is, in one line. */
export function progressLine(progress: LoadProgress): string {
  const { customers, served, executed, replayed, inProgress, lost } = progress;
  return `${served}/${customers} customers served · executed ${executed} · replayed ${replayed} · in progress ${inProgress} · lost answers ${lost}`;
}

/** The live line of a load: rewritten in a terminal, else said once a second. */
export function liveLine(text: () => string): { end(): void } {
  const { isTTY } = process.stdout;
  const write = (): void => {
    const line = text();
    process.stdout.write(isTTY ? `\r\u001B[2K${line}` : `${line}\n`);
  };
  const timer = setInterval(write, isTTY ? 100 : 1_000);
  return {
    end() {
      clearInterval(timer);
      write();
      if (isTTY) say();
    },
  };
}

/** The ledger at the end of a load. */
export function sayLedger(ledger: LoadLedger): void {
  say();
  say('Ledger of this load');
  row('intents (customers who wanted to pay)', ledger.intents);
  row('clicks', ledger.clicks);
  row('requests sent', ledger.requests);
  row('answers lost on the way', ledger.lost);
  row('handler executed', ledger.executed);
  row('answers replayed', ledger.replayed);
  row('charges at the provider', ledger.charges);
  sayVerdict(ledger.faults);
}

/** The ledger at the end of chaos. */
export function sayChaosLedger(ledger: ChaosLedger): void {
  say();
  say(`Ledger of chaos with --seed ${ledger.seed}`);
  row('intents (customers who wanted to pay)', ledger.intents);
  row('requests sent', ledger.requests);
  row('requests without an answer', ledger.lost);
  row('kill -9 of the shop', ledger.shopKills);
  row('kill -9 of the worker', ledger.workerKills);
  row('kill -9 of the provider', ledger.providerKills);
  row('calls for a charge at the provider', ledger.calls);
  for (const [fault, what] of Object.entries(FAULTS)) row(`  ${what}`, ledger.providerFaults[fault] ?? 0);
  row('payments in the shop’s table', ledger.payments);
  row('charges at the provider', ledger.charges);
  sayVerdict(ledger.faults);
}

function row(what: string, count: number): void {
  say(`  ${what.padEnd(54)}${String(count).padStart(6)}`);
}

function sayVerdict(faults: readonly string[]): void {
  say();
  if (faults.length === 0) say('  OK: one charge per intent, and one answer for all its requests');
  for (const fault of faults) say(`  VIOLATED: ${fault}`);
  say();
}
