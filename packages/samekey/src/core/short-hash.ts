/**
 * FNV-1a of 64 bits in base 36: tells texts of the application apart where a few characters must do. Nobody's secret,
 * and no proof of anything: who wants two texts with one hash finds them.
 */
export function shortHash(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n);
  }
  return hash.toString(36);
}
