/**
 * What the client throws. It has the shape of the server's errors (`code`, `help`, `name`) and is no class of theirs:
 * a browser must not download the errors of a server, and this package depends on none. Recognise them by `code`.
 */

/** The codes of docs/reference/errors.md that the client uses. */
type ClientErrorCode = 'ERR_SAMEKEY_OPTIONS' | 'ERR_SAMEKEY_UNSETTLED';

/** The base of both. `help` is the page that explains the code. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly help: string;

  constructor(code: ClientErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.help = `https://samekey.example/errors#${code.toLowerCase().replaceAll('_', '-')}`;
  }
}

/** An option or a request is not acceptable. Thrown before anything is sent. */
export class OptionsError extends ClientError {
  constructor(message: string) {
    super('ERR_SAMEKEY_OPTIONS', message);
  }
}
