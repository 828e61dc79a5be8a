/** Tells its monotonic clock when asked: the one that `systemWorld()` gives to engines. */
process.on('message', () => process.send?.(performance.now()));
