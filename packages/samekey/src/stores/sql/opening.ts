/** Connections that open, and answers that come, within a time. */

/** The connection, if it opens in time; one that opens too late is closed again. */
export async function openedWithin<Connection>(
  opening: Promise<Connection>,
  timeMaxMs: number,
  server: string,
  close: (connection: Connection) => unknown,
): Promise<Connection> {
  let late = false;
  opening.then(
    (connection) => void (late && close(connection)),
    () => undefined,
  );
  try {
    return await within(opening, timeMaxMs, server);
  } catch (error) {
    late = true;
    throw error;
  }
}

/** What it resolves with; rejects when that takes longer than `timeMaxMs`. */
export function within<T>(promise: Promise<T>, timeMaxMs: number, server: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${server} did not answer within ${timeMaxMs} ms.`)),
      timeMaxMs,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
