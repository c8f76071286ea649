/** Loaded before the gateway to put a bug into it: SIGUSR2 throws, SIGWINCH leaves a rejection unhandled. */

process.on('SIGUSR2', () => {
  throw new TypeError('a bug that quotes sk-provider-key-canary-0123456789');
});
process.on('SIGWINCH', () => {
  void Promise.reject(new RangeError('a bug that quotes sk-provider-key-canary-0123456789'));
});
