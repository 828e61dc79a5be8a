/** Inputs as bytes: kept with the record, so that a worker can push the operation on without the client. */

import { OptionsError, ValueError } from '../core/errors.ts';
import { comparedJsonOf } from '../fingerprint/json-value.ts';

/** How an input becomes bytes and comes back. Must read what earlier versions of the code have written. */
export interface InputCodec<Input> {
  encode(input: Input): Uint8Array;
  /** Throws for what it cannot read. */
  decode(bytes: Uint8Array): Input;
}

/** Largest input that is kept, in bytes. */
export const INPUT_MAX_BYTES: number = 1024 * 1024;

/** JSON in UTF-8: plain only, so that what the handler gets is what was given. */
const JSON_CODEC: InputCodec<unknown> = {
  encode(input) {
    const text = comparedJsonOf('The input, which is kept as JSON,', input) ?? 'null';
    return new TextEncoder().encode(text);
  },
  decode: (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as unknown,
};

/** The codec of a definition, its size bounded. Throws `OptionsError`; its `encode` throws `ValueError`. */
export function inputCodec<Input>(own: InputCodec<Input> | undefined): InputCodec<Input> {
  const codec = own ?? (JSON_CODEC as InputCodec<Input>);
  return {
    encode(input) {
      const bytes = codec.encode(input);
      if (!(bytes instanceof Uint8Array))
        throw new OptionsError(
          'The input codec gives bytes (Uint8Array) from encode, and it gave something else.',
        );
      if (bytes.length > INPUT_MAX_BYTES) {
        throw new ValueError(
          'too-large',
          '',
          `The input has ${bytes.length} bytes, ${INPUT_MAX_BYTES} is the most that is kept: keep large data elsewhere and pass its id.`,
        );
      }
      return bytes;
    },
    decode: (bytes) => codec.decode(bytes),
  };
}
