/** Drivers that the user installs beside this command: optional peers, loaded when an address needs one. */

/** What loads it, or null where it is not installed. Throws what a driver that is there throws while it loads. */
export async function driver<T>(name: string, load: () => Promise<T>): Promise<T | null> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    // Another package that is missing is a fault of the driver's installation.
    if (code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`)) return null;
    throw error;
  }
}
