// @ts-check
// How the provider is called. Any answer but the charge is a throw: nobody knows what it means, so the next attempt asks again.

const PROVIDER = process.env['PROVIDER_URL'] ?? 'http://127.0.0.1:4100';

/**
 * @param {{ reference: string, amountCents: number }} asked
 * @param {string} key
 * @param {AbortSignal} signal
 * @returns {Promise<{ id: string }>}
 */
export async function chargeAt(asked, key, signal) {
  const response = await fetch(`${PROVIDER}/charges`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(asked),
    signal,
  });
  if (response.status !== 201) throw new Error(`the provider answered ${response.status}`);
  const { id } = /** @type {{ id: string }} */ (await response.json());
  return { id };
}

/**
 * @param {{ order: number }} receipt
 * @param {string} key
 * @param {AbortSignal} signal
 */
export async function sendReceipt(receipt, key, signal) {
  const response = await fetch(`${PROVIDER}/receipts`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(receipt),
    signal,
  });
  if (response.status !== 201) throw new Error(`the mail service answered ${response.status}`);
}
