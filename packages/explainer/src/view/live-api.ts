/** The demo's API, as its page sees it. */

/** A request to try. */
export interface LiveRequest {
  readonly path: string;
  readonly key: string;
  readonly body: Readonly<Record<string, string | number>>;
  readonly times: number;
  readonly hangUpMs: number | null;
  readonly waitMs: number;
}

/** Something to try. */
export interface LiveTry {
  readonly title: string;
  readonly see: string;
  readonly command: string;
  readonly request: LiveRequest | null;
}

/** What came back; `status` null: the client hung up, or nobody answered. */
export interface LiveAnswer {
  readonly key: string;
  readonly status: number | null;
  readonly isReplay: boolean;
  readonly body: string;
}

/** What the provider has charged. */
export interface LiveLedger {
  readonly intents: number;
  readonly charges: number;
  readonly oneChargePerIntent: boolean;
  readonly latest: readonly {
    readonly intent: string;
    readonly operation: string;
    readonly charges: number;
  }[];
}

/** A record of the demo's own store. */
export interface LiveRecord {
  readonly key: string;
  readonly operation: string;
  readonly state: string;
  readonly attempt: number;
  readonly reason: string | null;
  readonly recoveryPoint: string | null;
  readonly status: number | null;
}

/** Both, as they are now. */
export interface LiveState {
  readonly ledger: LiveLedger;
  readonly records: readonly LiveRecord[];
}

/** What its provider may do wrong. */
const FAULTS = ['loses-reply', 'fails-first', 'fails-after-charging', 'forgets-key'] as const;

/** Reads JSON. Rejects when the demo is not there. */
export async function readJson<Value>(path: string): Promise<Value> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} answers ${response.status}`);
  return (await response.json()) as Value;
}

/** A fault for this key in half of all cases, always the same one: a retry must be the same request. */
export function faultOf(key: string): string | null {
  let sum = 0;
  for (const character of key) sum = (sum * 31 + character.charCodeAt(0)) >>> 0;
  const at = (sum >>> 3) % (FAULTS.length * 2);
  return FAULTS[at] ?? null;
}

/** Sends one request. Never rejects. */
export async function sendLive({ path, key, body, hangUpMs, waitMs }: LiveRequest): Promise<LiveAnswer> {
  await new Promise((resolve) => void setTimeout(resolve, waitMs));
  try {
    const response = await fetch(`/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `"${key}"` },
      body: JSON.stringify(body),
      ...(hangUpMs === null ? {} : { signal: AbortSignal.timeout(hangUpMs) }),
    });
    return {
      key,
      status: response.status,
      isReplay: response.headers.get('Idempotency-Replayed') === 'true',
      body: (await response.text()).trim(),
    };
  } catch {
    return { key, status: null, isReplay: false, body: '' };
  }
}
