/**
 * What the page and the server say to each other: JSON, over `POST api/<verb>`. Times are milliseconds since 1970 by
 * the store's clock. Types alone: the page imports nothing else of the server.
 */

/** What a user may do beside looking. */
export type ConsoleRight = 'settle' | 'reopen' | 'forget' | 'requeue' | 'drop' | 'erase' | 'reveal';

/** Names one record. */
export interface Id {
  readonly scope: string;
  readonly key: string;
}

/** Names a record as somebody saw it: an act is done to that one, or not at all. */
interface Seen {
  readonly claimId: string;
  readonly attempt: number;
  /** Needed of what is to be forgotten: refused where it ended otherwise by now. */
  readonly state?: string;
}

/** Who looks, at what. */
export interface Me {
  readonly actor: string;
  readonly rights: readonly ConsoleRight[];
  readonly store: string;
  readonly keepsMessages: boolean;
  /** Whether a downstream key, or an id of a provider, leads to its record. */
  readonly keepsReferences: boolean;
}

/** A record in a list: nothing of what it holds. */
export interface Row extends Id, Seen {
  readonly caller: string;
  readonly keyHash: string;
  readonly operation: string;
  readonly state: string;
  readonly reason: string | null;
  readonly createdAt: number;
  readonly lockedUntil: number;
  readonly finishedAt: number | null;
  readonly status: number | null;
}

/** A page of records, newest first. */
export interface List {
  readonly now: number;
  readonly rows: readonly Row[];
  /** Ask again with it for what comes after; null: that was all. */
  readonly cursor: string | null;
  /** How many records were looked at; more than are shown where a filter has no index. */
  readonly looked: number;
  /** A millisecond of which so many records are that not all can be told apart; null: none. The rest is not shown. */
  readonly passedOver: number | null;
  /** Of what a reference leads to there may be more than is shown. */
  readonly isCut: boolean;
}

/** Contents of a caller that came under several keys. */
export interface Minted {
  readonly now: number;
  /** Of the newest records of the caller. */
  readonly looked: number;
  /** When the oldest of these was made. */
  readonly from: number | null;
  readonly isCut: boolean;
  /** The largest first, each with its newest records. */
  readonly groups: readonly { readonly count: number; readonly rows: readonly Row[] }[];
}

/** How many of one operation are open. */
export interface OperationCount {
  readonly operation: string;
  readonly unknown: number;
  readonly running: number;
  readonly stuck: number;
  readonly pending: number;
}

/** The first screen. */
export interface Overview {
  readonly now: number;
  /** Null until they have been counted for the first time. */
  readonly counts: { readonly byState: Readonly<Record<string, number>>; readonly at: number } | null;
  /** The newest, of those that nobody knows. */
  readonly unknown: readonly Row[];
  /** In progress with a claim that is over, or pending past its deadline: nobody sweeps. */
  readonly stuck: readonly Row[];
  readonly operations: readonly OperationCount[];
  /** What is in progress is looked for among so many of the newest records. */
  readonly looked: number;
  /** There are more unknown ones than were read. */
  readonly isCut: boolean;
  readonly dead: readonly DeadTopic[];
  /** When dead letters were counted: a long queue seldom. Null: not yet. */
  readonly deadAt: number | null;
}

/** How many messages of a topic were given up. */
interface DeadTopic {
  readonly topic: string;
  readonly count: number;
}

/** One line of what happened to a record. */
export interface Moment {
  /** Null: the record does not say when. */
  readonly at: number | null;
  readonly kind: 'request' | 'step' | 'open' | 'claim' | 'answer' | 'message' | 'audit' | 'later';
  readonly title: string;
  readonly detail: string | null;
  /** What others know it by: of the message, of the row of the audit, or the provider's. */
  readonly id: string | null;
  /** Something failed, or nobody knows. */
  readonly isBad: boolean;
}

/** What is masked: how much there is, and its outline. */
export interface Masked {
  readonly bytes: number;
  /** JSON with the values hidden, or null where it is no JSON. */
  readonly outline: string | null;
}

/** A record whole. */
export interface Whole {
  readonly now: number;
  readonly row: Row;
  readonly meaning: string;
  readonly why: string | null;
  readonly next: string | null;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly moments: readonly Moment[];
  readonly openEffect: string | null;
  readonly answer: (Masked & { readonly status: number; readonly headers: readonly string[] }) | null;
  readonly isBodyKept: boolean;
  readonly input: Masked | null;
  readonly results: readonly { readonly name: string; readonly outline: string }[];
  readonly messages: readonly Letter[];
  /** What may be done by its state, whoever asks. */
  readonly acts: readonly ('settle' | 'reopen' | 'forget')[];
}

/** What was hidden, as it stands there. */
export interface Revealed {
  readonly answer: { readonly headers: readonly (readonly [string, string])[]; readonly body: string } | null;
  readonly input: string | null;
  readonly results: readonly { readonly name: string; readonly text: string }[];
  readonly messages: readonly { readonly id: string; readonly text: string }[];
  /** Longer texts are cut. */
  readonly isCut: boolean;
}

/** An act on one record. */
export interface ActRequest extends Id {
  readonly act: 'settle' | 'reopen' | 'forget';
  readonly seen: Seen;
  readonly reason?: string;
  readonly to?: 'completed' | 'failed' | 'retryable';
  readonly response?: {
    readonly status: number;
    readonly headers?: readonly (readonly [string, string])[];
    readonly body?: string | null;
  } | null;
  readonly because?: 'owner-gone' | 'downstream-key';
  readonly callTimeMaxMs?: number;
  readonly effectResult?: unknown;
  readonly effect?: 'none';
  /** Somebody's word that answers are not sealed here; asked for where no record tells (`perhaps-sealed`). */
  readonly mayStandClear?: boolean;
}

/** What an act would do, or has done. */
export interface ActAnswer {
  readonly kind: 'applied' | 'already' | 'contradiction' | 'absent' | 'refused';
  readonly because: string | null;
  /** For people: what happens, line by line. */
  readonly lines: readonly string[];
  readonly row: Row | null;
}

/** A dead letter, or a message of a record. */
export interface Letter {
  readonly id: string;
  readonly topic: string;
  readonly state: string;
  readonly place: number;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly started: number;
  readonly finished: number;
  readonly proven: number;
  readonly lastError: string | null;
  readonly payload: Masked;
  readonly owner: Id | null;
  /** What became of the request that it is the work of. */
  readonly request: string;
  readonly requestWords: string;
  readonly mayRequeue: boolean;
}

/** A page of dead letters, the oldest first. */
export interface Letters {
  readonly now: number;
  readonly letters: readonly Letter[];
  readonly after: number | null;
  readonly topics: readonly DeadTopic[];
  /** When these were counted; null: not yet. */
  readonly topicsAt: number | null;
}

/**
 * What became of one of many. `uncertain`: the store did not say whether it was done; look again before repeating it.
 * `already`: it was done before, just so.
 */
export interface BulkRow {
  readonly id: string;
  readonly end: 'would' | 'done' | 'already' | 'refused' | 'failed' | 'uncertain';
  readonly why: string | null;
}

/** What became of all of them. */
export interface BulkAnswer {
  readonly rows: readonly BulkRow[];
  readonly counts: Readonly<Partial<Record<BulkRow['end'], number>>>;
}

/** A record of a job, and what became of it; or a dead letter, with the record of its request (empty without one). */
export interface BulkLine extends Id {
  readonly letter?: string;
  readonly end: BulkRow['end'];
  readonly why: string | null;
}

/**
 * Why a job may not have all that match. `many`: it has as many as one takes, and the next has others. `far`: it has
 * looked at so many records that it goes no further back, and no other does. `unlisted`: some cannot be listed.
 */
export type BulkCut = 'many' | 'far' | 'unlisted';

/** One act on many records or dead letters, tried or done. */
export interface BulkJob {
  readonly id: string;
  readonly act: ConsoleRight;
  /** The act and the filter, for people. */
  readonly words: string;
  /** What the act brings about, for people. */
  readonly does: readonly string[];
  /** Who tried it, or does it. */
  readonly actor: string;
  readonly phase: 'looking' | 'tried' | 'doing' | 'done' | 'stopped';
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly reason: string | null;
  readonly looked: number;
  /** Why there may be more than it has. */
  readonly cut: readonly BulkCut[];
  readonly isStopping: boolean;
  /** What ended it. */
  readonly fault: string | null;
  readonly counts: Readonly<Partial<Record<BulkRow['end'], number>>>;
  /** Why some are not, the most first; none for who has not the right to its act. */
  readonly whys: readonly { readonly end: BulkRow['end']; readonly why: string; readonly count: number }[];
}

/** A job with some of its lines; what follows the job is empty for who has not the right to its act. */
export interface BulkPage {
  readonly now: number;
  readonly job: BulkJob;
  /** What its act is given: status, body, reason. */
  readonly given: readonly (readonly [name: string, text: string])[];
  readonly lines: readonly BulkLine[];
  /** Ask again with it for those that follow; null: there are none. */
  readonly after: number | null;
}

/** What erasing would empty, or has. */
export interface EraseAnswer {
  readonly erased: number;
  readonly left: number;
  readonly lines: readonly string[];
}

/** A row of the audit. */
export interface AuditLine extends Id {
  readonly seq: string;
  readonly at: number;
  readonly act: string;
  readonly operation: string | null;
  readonly attempt: number;
  readonly from: string | null;
  readonly to: string | null;
  readonly reason: string | null;
  readonly actor: string | null;
}

/** A page of the audit, newest first. */
export interface Audit {
  readonly now: number;
  readonly rows: readonly AuditLine[];
  readonly before: string | null;
}

/** What went wrong. */
export interface Fault {
  readonly code: string;
  readonly message: string;
}
