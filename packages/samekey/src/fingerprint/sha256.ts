/**
 * SHA-256 and HMAC-SHA-256, synchronous and without a machine: for digests in log lines and metrics, which are made
 * where no digester is passed in and nothing may wait. Fingerprints are digested by the `Digester` of the world, which
 * is faster.
 *
 * Invariant: equal to every other implementation, to the byte (tested against Node's). Sources: FIPS 180-4 §6.2,
 * RFC 2104 §2.
 */

/** SHA-256 of `bytes`: 32 bytes. */
export function sha256Bytes(bytes: Uint8Array): Uint8Array {
  const padded = pad(bytes);
  const view = new DataView(padded.buffer);
  const hash = Uint32Array.from(INITIAL);
  const schedule = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) mix(hash, schedule, view, at);
  const out = new Uint8Array(32);
  const outView = new DataView(out.buffer);
  for (const [i, word] of hash.entries()) outView.setUint32(4 * i, word);
  return out;
}

/** HMAC-SHA-256 of `bytes` under `secret`: 32 bytes. */
export function hmacSha256Bytes(secret: Uint8Array, bytes: Uint8Array): Uint8Array {
  const key = new Uint8Array(BLOCK_BYTES);
  key.set(secret.length > BLOCK_BYTES ? sha256Bytes(secret) : secret);
  const inner = sha256Bytes(
    joined(
      key.map((byte) => byte ^ 0x36),
      bytes,
    ),
  );
  return sha256Bytes(
    joined(
      key.map((byte) => byte ^ 0x5c),
      inner,
    ),
  );
}

const BLOCK_BYTES = 64;

/** The message, a one bit, zeros, and its length in bits (§5.1.1). */
function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  return padded;
}

function mix(hash: Uint32Array, schedule: Uint32Array, view: DataView, at: number): void {
  const word = (i: number): number => schedule[i] ?? 0;
  for (let i = 0; i < 16; i += 1) schedule[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i += 1) {
    const [early, late] = [word(i - 15), word(i - 2)];
    const small0 = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const small1 = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    schedule[i] = word(i - 16) + small0 + word(i - 7) + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i += 1) {
    const large1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + large1 + ((e & f) ^ (~e & g)) + (CONSTANTS[i] ?? 0) + word(i)) | 0;
    const large0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const second = (large0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) hash[i] = (hash[i] ?? 0) + value;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** The first 32 bits of the fractional parts of square roots (§5.3.3) and cube roots (§4.2.2) of the first primes. */
const PRIMES: readonly number[] = primes(64);
const INITIAL: readonly number[] = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const CONSTANTS: readonly number[] = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}
