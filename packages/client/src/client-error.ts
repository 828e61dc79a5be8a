/**
 * What the client throws. It has the shape of the server's errors (`code`, `help`, `name`) and is no class of theirs:
 * a browser must not download the errors of a server, and this package depends on none. Recognise them by `code`.
 */

/** The codes of docs/reference/errors.md that the client uses. */
type ClientErrorCode = `ERR_SAMEKEY_${'OPTIONS' | 'UNSETTLED'}`;

/** The base of both. `help` is the page that explains the code. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly help: string;

  constructor(name: string, code: 'options' | 'unsettled', message: string) {
    super(message);
    // Said, and not taken from the class: a page's bundler gives that another one.
    this.name = name;
    this.code = `ERR_SAMEKEY_${code.toUpperCase()}` as ClientErrorCode;
    this.help = `https://samekey.example/errors#err-samekey-${code}`;
  }
}

/** An option or a request is not acceptable. Thrown before anything is sent. */
export class OptionsError extends ClientError {
  constructor(message: string) {
    super('OptionsError', 'options', message);
  }
}
