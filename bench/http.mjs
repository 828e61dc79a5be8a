/** The least of JSON on node:http: reads a body, sends an answer. */

/**
 * @param {import('node:http').IncomingMessage} req
 * @param {(bytes: Buffer) => void} then
 */
export function readBytes(req, then) {
  /** @type {Buffer[]} */
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => then(Buffer.concat(chunks)));
}

/**
 * @param {import('node:http').IncomingMessage} req
 * @param {(body: unknown) => void} then
 */
export function readJson(req, then) {
  readBytes(req, (bytes) => then(JSON.parse(bytes.toString())));
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {number} status
 * @param {string} text
 */
export function sendJson(res, status, text) {
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}
