/** Plants the ills of one kind of database and asks the doctor, in this process and by its sources. */

import { expect, it } from 'vitest';
import { createOperator } from 'samekey/operator';
import { findAddress, type SqlAddress } from '../../src/database/address.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { examine } from '../../src/doctor/examine.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import type { Load } from './load.ts';
import { DRIFT, ENDING, type Ill, type Kind, newer, ROWS, SETTINGS } from './ills.ts';

/** A kind of database, as the suite needs it. */
export interface Patients {
  /** The name of a new database with the tables in it. */
  fresh(): Promise<string>;
  /** Another session on it. */
  session(url: string): Promise<Session>;
  /** Requests, messages and upkeep as in production, until it is stopped. */
  load(url: string): Promise<Load>;
}

/** Somebody's session. */
export interface Session {
  execute(sql: string): Promise<void>;
  close(): Promise<void>;
}

const WINDOWS = { retryMs: 86_400_000, recoveryMs: 3_600_000, auditMs: 0, transactionMs: 1_000 };

/** What the doctor finds. */
export async function lookedAt(url: string): Promise<readonly Finding[]> {
  const database = await openDatabase(findAddress(url, {}) as SqlAddress, undefined);
  try {
    return await examine(
      {
        store: database.store,
        operator: createOperator({ store: database.store, actor: null }),
        database,
        isBare: true,
        shown: url,
        about: {},
        now: () => database.now(),
      },
      WINDOWS,
    );
  } finally {
    await database.close();
  }
}

/** Failures and warnings, as texts with their mends. */
export function illsOf(findings: readonly Finding[]): readonly string[] {
  return findings
    .filter(({ level }) => level === 'failure' || level === 'warning')
    .map(({ check, what, remedy }) => `${check}: ${what} → ${remedy}`);
}

function isFound(told: readonly string[], { check, said }: Ill): boolean {
  return told.some((text) => text.startsWith(check === '' ? '' : `${check}: `) && said.test(text));
}

/** The ills of this kind. */
function of(kind: Kind, ills: readonly Ill[]): readonly Ill[] {
  return ills.filter(({ plant }) => plant[kind] !== undefined);
}

function expectAll(told: readonly string[], ills: readonly Ill[]): void {
  const missed = ills.filter((ill) => !isFound(told, ill)).map(({ ill }) => ill);
  expect(missed, told.join('\n')).toEqual([]);
}

/** Adds the tests. `patients` is asked once its server is up. */
export function findsIlls(kind: Kind, patients: () => Patients): void {
  // F151
  it('finds nothing on a healthy database under load', async () => {
    const url = await patients().fresh();
    const load = await patients().load(url);
    try {
      await load.isUnderWay();
      for (let look = 0; look < 3; look += 1) expect(illsOf(await lookedAt(url))).toEqual([]);
    } finally {
      await load.stop();
    }
  });

  /** Plants them together, and gives what is told. */
  async function toldOf(ills: readonly Ill[], before: readonly string[] = []): Promise<readonly string[]> {
    const url = await patients().fresh();
    const name = new URL(url, 'file:///').pathname.slice(1);
    const first = await patients().session(url);
    try {
      for (const statement of before) await first.execute(statement);
      for (const statement of ills.flatMap(({ plant }) => plant[kind] ?? []))
        await first.execute(statement.replace('DATABASE current', `DATABASE ${name}`));
      const looking = new URL(url, 'file:///');
      const role = ills[0]?.role;
      if (role !== undefined) [looking.username, looking.password] = [role, role];
      return illsOf(await lookedAt(kind === 'sqlite' ? url : looking.href));
    } finally {
      await first.close();
      const cures = ills.flatMap(({ cure = [] }) => (kind === 'mysql' ? cure : []));
      if (cures.length > 0) {
        const admin = await patients().session(url);
        for (const statement of cures) await admin.execute(statement);
        await admin.close();
      }
    }
  }

  // F151
  it('finds each difference of the schema, all in one look', async () => {
    const ills = of(kind, DRIFT);
    expectAll(await toldOf(ills), ills);
  });

  it.each(of(kind, ENDING).map((ill) => [ill.ill, ill] as const))('finds that %s', async (_, ill) => {
    expectAll(await toldOf([ill]), [ill]);
  });

  // F151
  it('finds each row that says what is wrong, behind 510 newer ones', async () => {
    const ills = of(kind, ROWS);
    expectAll(await toldOf(ills, newer(kind)), ills);
  });

  it.runIf(of(kind, SETTINGS).length > 0)('finds each setting and session that gets in the way', async () => {
    const ills = of(kind, SETTINGS);
    const left = ills.filter(({ plant }) => plant[kind]?.includes('BEGIN') === true);
    const stay = ills.filter((ill) => !left.includes(ill));
    expectAll(await toldOf(stay), stay);
    // A transaction is open for too long only after a while: looked at again until then.
    const url = await patients().fresh();
    const sessions: Session[] = [];
    for (const { plant } of left) {
      const session = await patients().session(url);
      sessions.push(session);
      for (const statement of plant[kind] ?? []) await session.execute(statement);
    }
    try {
      await expect
        .poll(
          async () => {
            const told = illsOf(await lookedAt(url));
            return left.filter((ill) => !isFound(told, ill)).map(({ ill }) => ill);
          },
          { timeout: 30_000, interval: 300 },
        )
        .toEqual([]);
    } finally {
      for (const session of sessions) await session.close();
    }
  });
}
