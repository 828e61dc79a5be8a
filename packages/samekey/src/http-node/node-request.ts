/**
 * What a request says before its body: raw header lines and the target as sent.
 *
 * Invariant: lines are never joined, trimmed or lower-cased (two `Idempotency-Key` lines must be seen as two, F33), and
 * the target is the client's, whatever a router mounted in between has cut off `req.url`.
 *
 * Sources: RFC 9110 §5.3 (field lines), RFC 9112 §3.2 (request targets).
 */
import type { IncomingMessage } from 'node:http';

/** A request; frameworks that rewrite `url` while routing keep the target in `originalUrl`. */
type NodeRequest = IncomingMessage & { readonly originalUrl?: string };

/** The values of every line of the field `name`, in order, as they came. */
export function headerLines(req: IncomingMessage, name: string): string[] {
  const { rawHeaders } = req;
  const field = name.toLowerCase();
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const line = rawHeaders[i] as string;
    if (line.length === field.length && line.toLowerCase() === field)
      values.push(rawHeaders[i + 1] as string);
  }
  return values;
}

/** Path and query of a request, percent-encoded as sent. */
interface RequestTarget {
  /** `*` and authority-form targets (OPTIONS, CONNECT) are given as they are. */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
}

/** The target of a request; of an absolute-form target (RFC 9112 §3.2.2) the part after the authority. */
export function requestTarget(req: NodeRequest): RequestTarget {
  const target = withoutAuthority(req.originalUrl ?? req.url ?? '/');
  const mark = target.indexOf('?');
  return mark === -1
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

function withoutAuthority(target: string): string {
  if (target.startsWith('/')) return target;
  const scheme = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i.exec(target);
  if (scheme === null) return target;
  const rest = target.slice(scheme[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
