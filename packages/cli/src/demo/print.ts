/** Everything the demo prints, in one place. */

import type { LoadLedger, LoadProgress } from './load-ledger.ts';
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
export function sayWhere(origin: string, folder: string): void {
  say(`Samekey demo: a payments API whose requests may be retried`);
  say();
  say(`  API   ${origin}`);
  say(`  Data  ${folder} (kept; remove it to start anew)`);
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

/** One line for one request. */
export function sayRequest(seen: RequestSeen): void {
  const attempt = seen.attempt === null ? '' : `attempt ${seen.attempt}`;
  say(
    [
      new Date().toTimeString().slice(0, 8),
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

function goneRemark({ outcome }: RequestSeen): string {
  // Nothing but a finished attempt outlives its client; who only waited for another's answer just leaves.
  return outcome === 'executed' ? 'the client hung up; its retry gets the answer' : 'the client hung up';
}

/** The live line of a load: rewritten in a terminal, else said once a second. */
export function liveLine(progress: () => LoadProgress): { end(): void } {
  const { isTTY } = process.stdout;
  const write = (): void => {
    const { customers, served, executed, replayed, inProgress, lost } = progress();
    const line = `${served}/${customers} customers served · executed ${executed} · replayed ${replayed} · in progress ${inProgress} · lost answers ${lost}`;
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
  const row = (what: string, count: number): void => say(`  ${what.padEnd(40)}${String(count).padStart(6)}`);
  say();
  say('Ledger of this load');
  row('intents (customers who wanted to pay)', ledger.intents);
  row('clicks', ledger.clicks);
  row('requests sent', ledger.requests);
  row('answers lost on the way', ledger.lost);
  row('handler executed', ledger.executed);
  row('answers replayed', ledger.replayed);
  row('charges', ledger.charges);
  say();
  if (ledger.faults.length === 0) {
    say('  OK: one charge per intent, and one answer for all its requests');
  } else {
    for (const fault of ledger.faults) say(`  VIOLATED: ${fault}`);
  }
  say();
}
