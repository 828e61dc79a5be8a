/** A table as it is after a month of traffic, and what its statements cost there. */

import type { Client } from 'pg';

/** How much is filled in. */
export interface Filled {
  readonly records: number;
  /** Waiting in the queue; of 2,000 one was given up. */
  readonly messages: number;
  readonly audit: number;
}

/** The caller with a third of all records; the others are {@link CALLERS}, alike. */
export const BIG_CALLER = 'acme/big';
export const CALLERS = 1_000;
/** Has the oldest records of all, and has left. */
export const LEFT_CALLER = 'acme/left';

/**
 * Fills it: a month, of which one second has four hundred records; of 1,000 records one is unknown, five have failed,
 * one never ended. The planner is told, as autovacuum would.
 */
export async function fillPostgres(admin: Client, { records, messages, audit }: Filled): Promise<void> {
  await admin.query('ALTER TABLE samekey_records SET (fillfactor = 90, autovacuum_enabled = false)');
  await admin.query(
    `INSERT INTO samekey_records (scope, key, operation, state, attempt, claim_id, locked_until, claim_ttl_ms, renewals,
       when_claim_ends, fingerprint_label, fingerprint_digest, reason, response_status, response_body, response_headers, format_version,
       reconcile_after, created_at, finished_at, expires_at, replay_min_ms, attempt_max, tombstone_ms, reap_after)
     SELECT CASE WHEN n <= $1::int / 500 THEN '${LEFT_CALLER}' WHEN n % 3 = 0 THEN '${BIG_CALLER}' ELSE 'acme/c' || n % ${CALLERS} END || '|' || q.operation, 'filled-' || n, q.operation,
       q.state, 1, 'c' || n, q.at, 10000, 0, 'unknown', 'json', md5((n / 2)::text), CASE WHEN q.state = 'unknown' THEN 'said-unknown' END,
       CASE WHEN q.state IN ('completed', 'failed') THEN 201 END, CASE WHEN q.state IN ('completed', 'failed') THEN 'x'::bytea END,
       CASE WHEN q.state IN ('completed', 'failed') THEN '[]' END, 1,
       CASE WHEN q.state = 'unknown' THEN now() + interval '1 day' END, q.at, CASE WHEN q.state IN ('completed', 'failed') THEN q.at END,
       now() + interval '30 days', 0, 10, 0, now() + interval '30 days'
     FROM generate_series(1, $1::int) AS n, LATERAL (SELECT
       CASE WHEN n % 50 = 7 THEN 'POST /refunds' ELSE 'POST /payments' END AS operation,
       CASE n % 1000 WHEN 1 THEN 'unknown' WHEN 2 THEN 'in_progress' WHEN 3 THEN 'retryable'
         WHEN 4 THEN 'failed' WHEN 5 THEN 'failed' WHEN 6 THEN 'failed' WHEN 7 THEN 'failed' WHEN 8 THEN 'failed' ELSE 'completed' END AS state,
       now() - interval '1 minute' - greatest(0, $1::int - n - 400) * (interval '30 days' / $1::int) AS at) AS q`,
    [records],
  );
  await admin.query(
    `INSERT INTO samekey_messages (id, topic, state, due_at, created_at, started, finished, scope, key, claim_id, attempt, payload)
     SELECT 'filled-' || n, 'mail-' || n % 5, CASE WHEN n % 2000 = 0 THEN 'dead' ELSE 'ready' END, now() + interval '1 hour', now(), 20, 20,
       q.scope, q.key, q.claim, q.attempt, '{}'
     FROM generate_series(1, $1::int) AS n, LATERAL (SELECT CASE WHEN n % 4000 = 0 THEN 'acme/c1|POST /payments' END AS scope,
       CASE WHEN n % 4000 = 0 THEN 'filled-' || n END AS key, CASE WHEN n % 4000 = 0 THEN 'c' END AS claim,
       CASE WHEN n % 4000 = 0 THEN 1 END AS attempt) AS q`,
    [messages],
  );
  await admin.query(
    `INSERT INTO samekey_audit (at, scope, key, operation, attempt, act, from_state, to_state)
     SELECT now(), 'acme/c' || n % ${CALLERS} || '|POST /payments', 'filled-' || n % 100000, 'POST /payments', 1, 'transition', 'in_progress', 'completed'
     FROM generate_series(1, $1::int) AS n`,
    [audit],
  );
  await admin.query(
    `INSERT INTO samekey_references (reference, scope, key, created_at, attempt)
     SELECT md5(key), scope, key, created_at, 1 FROM samekey_records`,
  );
  await admin.query('VACUUM (ANALYZE)');
}

/** A statement as a verb of the console has made it. */
export interface Planned {
  readonly verb: string;
  readonly statement: string;
  readonly text: string;
  readonly plan: string;
  /** Pages of 8 kB that it looked at; null of what writes, which is not done to be measured. */
  readonly pages: number | null;
}

/** Statements of one connection and what they were given, as they come. */
interface Sent {
  readonly client: Client;
  readonly verb: string;
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** Watches connections. */
export interface Watcher {
  /** What is sent from now on is this verb's. */
  verb: string;
  watch(client: Client): Client;
  /** The plans that the sessions themselves keep by now, of everything that was sent, with the values of the last time. */
  plans(): Promise<readonly Planned[]>;
}

/** Makes one. */
export function watchStatements(): Watcher {
  const sent = new Map<string, Sent>();
  const watcher: Watcher = {
    verb: '',
    watch(client) {
      const query = client.query.bind(client) as (asked: object) => unknown;
      const note = (asked: object): unknown => {
        const { name, text, values } = asked as { name?: string; text?: string; values?: Sent['values'] };
        if (
          name !== undefined &&
          text !== undefined &&
          watcher.verb !== '' &&
          !/_(begin|commit|rollback)$/.test(name)
        ) {
          // What is there or not decides the plan.
          const form = (values ?? []).map((value) => (value === null ? '0' : '1')).join('');
          sent.set(`${watcher.verb} ${name} ${form}`, {
            client,
            verb: watcher.verb,
            name,
            text,
            values: values ?? [],
          });
        }
        return query(asked);
      };
      return Object.assign(client, { query: note });
    },
    async plans() {
      const { verb } = watcher;
      watcher.verb = '';
      const plans: Planned[] = [];
      for (const each of sent.values()) plans.push(await planOf(each));
      sent.clear();
      watcher.verb = verb;
      return plans;
    },
  };
  return watcher;
}

async function planOf({ client, verb, name, text, values }: Sent): Promise<Planned> {
  const isRead = !/\b(INSERT|UPDATE|DELETE)\b/.test(text);
  const given = values.map((value) => (value === null ? 'NULL' : client.escapeLiteral(value))).join(', ');
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (COSTS OFF${isRead ? ', ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF' : ''}) EXECUTE ${name}${given === '' ? '' : `(${given})`}`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const [, hit = '0', read = '0'] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
  return {
    verb,
    statement: name.replace(/^samekey_/, '').replace(/_[\da-z]+$/, ''),
    text,
    plan,
    pages: isRead ? Number(hit) + Number(read) : null,
  };
}
