/** What `redirect()`, `notFound()` and their like throw, by the digest that Next knows it by. */

/** The status that Next answers such an error with, and what stands in it; null for any other error. */
export function navigationOf(error: unknown): { readonly status: number; readonly digest: string } | null {
  const { digest } = (error ?? {}) as { readonly digest?: unknown };
  if (typeof digest !== 'string') return null;
  const parts = digest.split(';');
  if (parts[0] === 'NEXT_REDIRECT') {
    // NEXT_REDIRECT;replace;/where;307; and the address may have semicolons.
    const status = Number(parts.at(-2));
    return [303, 307, 308].includes(status) ? { status, digest } : null;
  }
  const status = Number(parts[1]);
  const isFallback = parts[0] === 'NEXT_HTTP_ERROR_FALLBACK' && [401, 403, 404].includes(status);
  return isFallback ? { status, digest } : null;
}

/** Where a redirect leads; null for what is none. */
export function addressOf(digest: string): string | null {
  return digest.startsWith('NEXT_REDIRECT;') ? digest.split(';').slice(2, -2).join(';') : null;
}
