/** The client has classes of its own for what it throws: programs that look at `code`, `help` and `name` see no difference. */

import { expect, it } from 'vitest';
import { type ErrorCode, errorCode } from '../../src/index.ts';
import { OptionsError as OfServer, SamekeyError } from '../../src/core/errors.ts';
import { ClientError, OptionsError } from '../../../client/src/client-error.ts';

const shapeOf = ({ code, help, name, message, cause }: SamekeyError | ClientError): object => ({
  code,
  help,
  name,
  message,
  cause,
});

it('an error of the client has the shape of the server\u2019s', () => {
  expect(shapeOf(new OptionsError('wrong'))).toEqual(shapeOf(new OfServer('wrong')));
  const unsettled = new ClientError('Unsettled', 'open');
  // Each code of the client is one of those that the page of errors explains.
  const code: ErrorCode = unsettled.code;
  expect({ ...shapeOf(unsettled), name: 'SamekeyError' }).toEqual(shapeOf(new SamekeyError(code, 'open')));
  expect(errorCode(new OptionsError('wrong'))).toBe('ERR_SAMEKEY_OPTIONS');
});
