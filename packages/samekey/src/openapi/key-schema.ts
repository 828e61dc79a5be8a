/**
 * The schema of a key as it stands on the wire. What a validator in front of the server refuses, the server would
 * refuse too: quotes and escapes of the header are allowed for.
 */

import { KEY_LENGTH_MAX, type KeyOptions } from '../core/key.ts';

/** A JSON Schema (2020-12), as far as it is used here. */
export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: (string | number)[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  pattern?: string;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

/** Of a key that is a text of its own, in the query or a member. */
export function textSchema({
  lengthMin = 1,
  lengthMax = KEY_LENGTH_MAX,
  uuidOnly = false,
}: KeyOptions): Schema {
  if (uuidOnly !== false)
    return { type: 'string', format: 'uuid', minLength: 36, maxLength: 36, pattern: `^${uuid(uuidOnly)}$` };
  return { type: 'string', minLength: lengthMin, maxLength: lengthMax, pattern: '^[ -~]+$' };
}

/** Of a key that is a header's value. RFC 9651 §3.3.3: each character between quotes may be escaped. */
export function headerSchema(options: KeyOptions): Schema {
  const { mode, lengthMin = 1, lengthMax = KEY_LENGTH_MAX, uuidOnly = false } = options;
  const times = `{${lengthMin},${lengthMax}}`;
  const quoted = uuidOnly === false ? `"(?:[ !#-\\[\\]-~]|\\\\["\\\\])${times}"` : `"${uuid(uuidOnly)}"`;
  // Bare: neither white space nor what could be read in two ways.
  const bare = uuidOnly === false ? `[!#-+\\--:<-~]${times}` : uuid(uuidOnly);
  const strict = mode === 'strict';
  const shortest = uuidOnly === false ? lengthMin : 36;
  const longest = uuidOnly === false ? 2 * lengthMax : 36;
  return {
    type: 'string',
    minLength: strict ? shortest + 2 : shortest,
    maxLength: longest + 2,
    // RFC 9651 §3.1.2: parameters behind a quoted one are taken and mean nothing; documents do not offer them.
    pattern: strict ? `^${quoted}$` : `^(?:${bare}|${quoted})$`,
  };
}

/** In either case. */
function uuid(version: true | 4 | 7): string {
  const hex = '[0-9A-Fa-f]';
  return `${hex}{8}-${hex}{4}-${version === true ? '[1-8]' : version}${hex}{3}-[89ABab]${hex}{3}-${hex}{12}`;
}
