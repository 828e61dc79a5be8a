/**
 * As much of HTTP/1.1 as a proxy needs to tell DynamoDB's requests apart and to know when one is answered: messages with a
 * `Content-Length`, and the operation in `X-Amz-Target`. Stand-ins answer so; a chunked answer would be taken for none.
 */

import type { ClientPart, ServerPart, Wire } from './fault-proxy.ts';

const END_OF_HEAD = '\r\n\r\n';

/** Reads one connection; a statement is an operation's name and its body. */
export function dynamoWire(): Wire {
  const fromClient = messagesOf();
  const fromServer = messagesOf();
  return {
    client: (chunk) => [...fromClient(chunk)].map(({ bytes, head, body }) => requestOf(bytes, head, body)),
    server: (chunk): readonly ServerPart[] =>
      [...fromServer(chunk)].map(({ bytes }) => ({ bytes, ends: true })),
  };
}

function requestOf(bytes: Buffer, head: string, body: Buffer): ClientPart {
  const target = /^x-amz-target: *\S+\.(\w+)/im.exec(head)?.[1];
  return {
    bytes,
    ends: true,
    ...(target === undefined ? {} : { statement: `${target} ${body.toString()}` }),
  };
}

interface Message {
  readonly bytes: Buffer;
  readonly head: string;
  readonly body: Buffer;
}

/** Cuts a stream into messages. */
function messagesOf(): (chunk: Buffer) => Generator<Message> {
  let rest: Buffer = Buffer.alloc(0);
  return function* cut(chunk) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.indexOf(END_OF_HEAD);
      if (end < 0) return;
      const head = rest.subarray(0, end).toString('latin1');
      const start = end + END_OF_HEAD.length;
      const length = start + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (rest.length < length) return;
      yield { bytes: rest.subarray(0, length), head, body: rest.subarray(start, length) };
      rest = rest.subarray(length);
    }
  };
}
