/**
 * What the API process (`api-server.ts`) and whoever started it (`api-cluster.ts`) say to each other: options on the
 * command line, messages over IPC, and the routes it answers on.
 */

import type { Policy, PolicyName, ProbePoint } from 'samekey';
import type { StoreAddress } from './backends/backend.ts';

/** Options of an API process, as JSON in its first argument. */
export interface ApiOptions {
  /** For people who read what it wrote. */
  readonly name: string;
  /** The store that all processes share. */
  readonly store: StoreAddress;
  /** The append-only file in which each execution is written down, independently of Samekey. */
  readonly ledgerPath: string;
  readonly claimTtlMs: number;
  /** How long the `wait` routes wait, in milliseconds; default 10,000. */
  readonly waitMaxMs?: number;
  /** How long a stop may take, in milliseconds; default 10,000. */
  readonly drainMs?: number;
  /** Default 2,000. */
  readonly storeTimeMaxMs?: number;
  /** Policies of the routes; default `payments` where the end of a claim leaves `unknown`, `standard` where it resumes. */
  readonly policy?: PolicyName | Policy;
}

/** What becomes of a claim whose process died, and whether duplicates wait: `POST /{way}/{patience}`. */
export const ROUTES = ['/unknown/now', '/unknown/wait', '/resume/now', '/resume/wait'] as const;

/** A route of the API process. */
export type RoutePath = (typeof ROUTES)[number];

/** Where a process can be caught: the probe points of Samekey, and the line after the handler's effect. */
export type TrapPoint = ProbePoint | 'handler.effect';

/** Catches the process at the `nth` arrival (from 1, default 1) at a point, of any key or of one. */
export interface Trap {
  readonly point: TrapPoint;
  readonly nth?: number;
  readonly key?: string;
  /** `kill`: SIGKILL on that line. `stop`: tell, then SIGSTOP. `wait`: tell, and go on when told to. */
  readonly action: 'kill' | 'stop' | 'wait';
}

/** To the API process. */
export type ToApi =
  | { readonly type: 'arm'; readonly id: number; readonly trap: Trap }
  | { readonly type: 'disarm' }
  | { readonly type: 'go'; readonly id: number }
  /** The next `count` calls of a verb are applied, but their replies are lost. */
  | { readonly type: 'lose-replies'; readonly verb: 'claim' | 'finish'; readonly count: number };

/** From the API process. */
export type FromApi =
  | { readonly type: 'ready'; readonly port: number }
  /** Done as told. */
  | { readonly type: 'done' }
  | { readonly type: 'reached'; readonly id: number; readonly key: string }
  | { readonly type: 'event'; readonly name: string; readonly key: string | null }
  /** Stopped: how many requests `close` left running. */
  | { readonly type: 'closed'; readonly left: number };
