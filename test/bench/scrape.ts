/**
 * What a scrape costs: the time that the event loop is held for one page, with as many models as become labels, served by
 * one provider each and by five. `node --import tsx test/bench/scrape.ts`
 */

import { createMetrics } from '../../src/metrics.ts';

const MODELS = 200;
const SCRAPES = 20;

for (const providers of [1, 5]) {
  const metrics = createMetrics({ version: '0', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
  for (let provider = 0; provider < providers; provider += 1) {
    for (let model = 0; model < MODELS; model += 1) {
      metrics.chat({
        route: 'chat_stream',
        provider: `provider-${provider}`,
        caller: 'team-a',
        requestedModel: `a-model-of-usual-length-${model}`,
        servedModel: `a-model-of-usual-length-${model}`,
        failure: undefined,
        ended: undefined,
        durationMs: 1200,
        overheadMs: 0.3,
        firstDeltaMs: 300,
        restMs: 900,
        usage: { inputTokens: 100, outputTokens: 50, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
      });
    }
  }
  const times: number[] = [];
  let page = Buffer.alloc(0);
  for (let scrape = 0; scrape < SCRAPES; scrape += 1) {
    const startedAtMs = performance.now();
    page = Buffer.from(metrics.renderPage());
    times.push(performance.now() - startedAtMs);
  }
  times.sort((a, b) => a - b);
  const lines = page.toString().split('\n').length - 1;
  process.stdout.write(
    `${MODELS} models × ${providers} providers: ${lines} lines, ${(page.length / 1e6).toFixed(1)} MB, ` +
      `best ${times[0]?.toFixed(1)} ms, median ${times[SCRAPES / 2]?.toFixed(1)} ms\n`,
  );
}
process.exit(0);
