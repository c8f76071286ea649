/**
 * Loaded before the gateway: tells its parent, when asked, how long the event loop's longest turn was since the last time,
 * in CPU time of its thread, which what else runs on the machine does not prolong. Linux only (reads /proc).
 */

import { closeSync, openSync, readSync } from 'node:fs';

const schedstat = openSync('/proc/self/schedstat', 'r');
const text = Buffer.alloc(64);
let longestMs = 0;
let lastMs = cpuMs();
setInterval(() => {
  const nowMs = cpuMs();
  longestMs = Math.max(longestMs, nowMs - lastMs);
  lastMs = nowMs;
}, 1).unref();
process.on('message', () => {
  process.send(longestMs);
  longestMs = 0;
});
process.on('exit', () => closeSync(schedstat));
process.channel.unref();

/** Of the main thread, since its start. */
function cpuMs() {
  readSync(schedstat, text, 0, text.length, 0);
  return parseInt(text.toString('latin1'), 10) / 1e6;
}
