/** Bodies that a framework takes beside texts and bytes: streams of Node and of the web, what has one, and a `Blob`. */
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';

/** Answers with such a body; false, and nothing is done, for a value that is none. */
export function pipeBody(body: object, res: ServerResponse, failed: (error: Error) => void): boolean {
  const stream = streamOf(body);
  if (stream === null) return false;
  pipeline(stream, res, (error) => {
    if (error) failed(error);
  });
  return true;
}

function streamOf(body: object): NodeJS.ReadableStream | null {
  if (body instanceof Blob) return Readable.fromWeb(body.stream() as WebStream);
  if (body instanceof Response) return body.body === null ? Readable.from([]) : streamOf(body.body);
  if (body instanceof ReadableStream) return Readable.fromWeb(body as WebStream);
  return 'pipe' in body && typeof body.pipe === 'function' ? (body as NodeJS.ReadableStream) : null;
}
