/** Header values of our own: dates and waiting times. */

/** The last second that IMF-fixdate can write: its years have four digits. */
const HTTP_DATE_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59);

let lastSecond = Number.NaN;
let lastDate = '';

/** A time as HTTP writes it (IMF-fixdate, RFC 9110 §5.6.7). */
export function httpDate(ms: number): string {
  const second = Math.floor(Math.min(ms, HTTP_DATE_MAX_MS) / 1000);
  // Under load most answers of one second name the same one.
  if (second !== lastSecond) {
    lastSecond = second;
    lastDate = new Date(second * 1000).toUTCString();
  }
  return lastDate;
}

/** Seconds as `Retry-After` wants them: whole, and at least one (RFC 9110 §10.2.3). */
export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.floor(ms / 1000)));
}
