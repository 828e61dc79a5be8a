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

  constructor(kind: 'Options' | 'Unsettled', message: string) {
    super(message);
    // Said, and not taken from the class: a page's bundler gives that another one.
    this.name = `${kind}Error`;
    this.code = `ERR_SAMEKEY_${kind.toUpperCase()}` as ClientErrorCode;
    this.help = `https://samekey.example/errors#err-samekey-${kind.toLowerCase()}`;
  }
}

/** An option or a request is not acceptable. Thrown before anything is sent. */
export class OptionsError extends ClientError {
  constructor(message: string) {
    super('Options', message);
  }
}

/** Refuses what is not right; throws {@link OptionsError}. */
export function must(isRight: boolean, message: string): asserts isRight {
  if (!isRight) throw new OptionsError(message);
}
