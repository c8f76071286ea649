/** `make soak`: CROWD streams at once, REQUESTS requests, STREAMS aborted streams; what the gateway's process held before and after. GATEWAY_TRANSPORT says over what. */

import { soak } from './soak.ts';

const { STREAMS = '20000', REQUESTS = '200000', CROWD = '5000' } = process.env;
/** Growth of heap and resident memory that a warm process may show, and with each 100,000 exchanges. */
const GROWTH_BYTES_MAX = 20e6;
const GROWTH_BYTES_PER_EXCHANGE_MAX = 5e6 / 100_000;

process.stdout.write(`${CROWD} streams at once, ${REQUESTS} requests, ${STREAMS} aborted streams\n`);
const exchanges = Number(STREAMS) + Number(REQUESTS);
const { before, after, inFlight, upstreamConnections, warnings } = await soak(Number(STREAMS), Number(REQUESTS), Number(CROWD));
for (const [name, key, unit] of [
  ['file descriptors', 'fds', 1],
  ['sockets', 'sockets', 1],
  ['timers', 'timers', 1],
  ['heap, MB', 'heapBytes', 1e6],
  ['resident, MB', 'residentBytes', 1e6],
] as const) {
  const show = (value: number): string => (value / unit).toFixed(unit === 1 ? 0 : 1).padStart(8);
  process.stdout.write(`${name.padEnd(18)}${show(before[key])} →${show(after[key])}\n`);
}
const growthBytesMax = GROWTH_BYTES_MAX + exchanges * GROWTH_BYTES_PER_EXCHANGE_MAX;
const leaks = [
  after.fds > before.fds ? 'file descriptors' : '',
  after.sockets > before.sockets ? 'sockets' : '',
  after.timers > before.timers ? 'timers' : '',
  after.heapBytes - before.heapBytes > growthBytesMax ? 'heap' : '',
  after.residentBytes - before.residentBytes > growthBytesMax ? 'resident memory' : '',
  inFlight > 0 ? 'requests in flight' : '',
  upstreamConnections > 0 ? 'connections to the provider' : '',
  warnings === '' ? '' : `warnings: ${warnings}`,
].filter((leak) => leak !== '');
process.stdout.write(leaks.length === 0 ? 'Nothing leaks.\n' : `LEAKS: ${leaks.join(', ')}\n`);
process.exitCode = leaks.length === 0 ? 0 : 1;
