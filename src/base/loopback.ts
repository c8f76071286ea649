/** Whether a host is this machine, by its name alone. */

/** True for `localhost`, names below it, and loopback addresses; `hostname` as a URL has it. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
