/**
 * What the pieces of a chat cost alone: nanoseconds of CPU and bytes of heap an operation. `make bench-parts`, ONLY=sse for the
 * names that hold this. The median of several rounds in one process, where all code is hot and no cache is cold.
 */

import { createHash } from 'node:crypto';
import { openSync } from 'node:fs';
import { parseJson } from '../../src/base/json/parse.ts';
import { LineWriter } from '../../src/base/line-writer.ts';
import { createLog } from '../../src/base/log.ts';
import { parseLenient } from '../../src/base/json/lenient.ts';
import { renderJson } from '../../src/base/json/render.ts';
import { SseBuffer } from '../../src/base/sse.ts';
import { DIALECTS } from '../../src/callers/index.ts';
import type { UpstreamCall } from '../../src/core/adapter.ts';
import type { Delta } from '../../src/core/delta.ts';
import type { AnswerFacts, DecodedRequest } from '../../src/core/dialect.ts';
import { Failure } from '../../src/core/failure.ts';
import { authenticate } from '../../src/http/auth.ts';
import { Secret } from '../../src/base/secret.ts';
import { createMetrics } from '../../src/metrics.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { sentText } from '../sent-text.ts';
import { quantile, renderTable } from './figures.ts';
import { FORMATS } from './formats.ts';
import { aChat, logFields } from './samples.ts';
import { ROWS } from './rows.ts';

const ROUNDS = 9;
const ROUND_MS = 40;
const BYTES_CALLS = 200;
const TOKENS = 10;
const TOKEN = 'a-token-for-the-benchmark';

type Operation = () => unknown;
const operations: [name: string, operation: Operation][] = [];

const words = 'A question of usual length, asked by somebody who waits for the answer.';
const request = JSON.stringify({ provider: 'compat', model: 'bench', messages: [{ role: 'user', text: words }] });
const kilobyte = JSON.stringify({ model: 'bench', messages: Array.from({ length: 6 }, () => ({ role: 'user', text: words.repeat(2) })) });
const parameters = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number', minimum: 1.5 }, c: { enum: ['x', true, null] } }, required: ['a'] };
const tools = JSON.stringify(Array.from({ length: 5 }, (_, i) => ({ type: 'function', function: { name: `f${i}`, description: words, parameters } })));
const chunk = Buffer.from(FORMATS.completions.token.repeat(TOKENS));
const callers = [{ label: 'default', token: new Secret(TOKEN) }];
const metrics = createMetrics({ version: '0', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
const crowded = createMetrics({ version: '0', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
for (let model = 0; model < 200; model += 1) aChat(crowded, 'anthropic', `a-model-of-usual-length-${model}`);
const writer = new LineWriter(openSync('/dev/null', 'w'));
const [jsonLog, textLog] = (['json', 'text'] as const).map((format) => createLog({ level: 'info', format, write: (line) => writer.write(line) }));
const text: Delta = { type: 'text', text: ' word' };

operations.push(
  ['sse: ten frames in a chunk', () => new SseBuffer(() => undefined, 1e6).feed(chunk)],
  ['json: parse a request without loss', () => parseJson(request)],
  ['json: parse a kilobyte of texts', () => parseJson(kilobyte)],
  ['json: parse tools', () => parseJson(tools)],
  ['json: parse a reply leniently', () => parseLenient(FORMATS.completions.whole)],
  ['json: render a request', () => renderJson({ model: 'bench', messages: [{ role: 'user', content: words }], stream: true, stop: undefined })],
  ['auth: a token', () => authenticate(`Bearer ${TOKEN}`, callers)],
  ['auth: a SHA-256 by itself', () => createHash('sha256').update(TOKEN).digest()],
  ['observe: counts of a streamed chat', () => aChat(metrics)],
  ['observe: a page of metrics for 200 models', () => crowded.renderPage()],
  ['observe: log line, json', () => jsonLog?.info('chat_stream', logFields())],
  ['observe: log line, text', () => textLog?.info('chat_stream', logFields())],
);

for (const dialect of DIALECTS) {
  const asked = ROWS.find(({ name }) => name.startsWith(rowName(dialect.name)))?.toGateway('bench', true);
  const route = dialect.routes.at(-1);
  if (asked === undefined || route === undefined) continue;
  const body = Buffer.from(asked.body);
  const decoded = dialect.decodeRequest(body, route);
  if (decoded instanceof Failure) throw decoded;
  const facts: AnswerFacts = { request: decoded, requestId: 'r', answerId: 'r', provider: 'compat', servedModel: 'bench', createdAtS: 1_750_000_000 };
  const reply = { id: 'r', model: 'bench', parts: [{ type: 'text', text: words, state: undefined }], thinking: '', stopReason: 'end_turn', usage: undefined } as const;
  const frames = dialect.createFrames(facts);
  frames.render(text);
  operations.push(
    [`caller ${dialect.name}: read a request`, () => (dialect.decodeRequest(body, route) as DecodedRequest).translate('bench')],
    [`caller ${dialect.name}: render a reply`, () => renderJson(dialect.encodeReply(reply, facts, undefined))],
    [`caller ${dialect.name}: render a token`, () => frames.render(text)],
  );
}

for (const row of [...PROVIDER_ROWS.filter(({ name }) => name === 'anthropic' || name === 'openai'), compatRow('compat')]) {
  const adapter = row.createAdapter(row.name, { openAiApi: row.name === 'openai' ? 'responses' : 'auto' });
  const format = row.name === 'anthropic' ? FORMATS.messages : row.name === 'openai' ? FORMATS.responses : FORMATS.completions;
  const [native] = DIALECTS;
  const decoded = native.decodeRequest(Buffer.from(request), { name: 'chat', path: '/v1/chat', stream: 'always' }) as DecodedRequest;
  const translation = decoded.translate('bench');
  if (translation instanceof Failure) throw translation;
  const ignore = (): void => undefined;
  const decoder = adapter.createStreamDecoder();
  new SseBuffer((event, data) => decoder.frame(event, data, ignore), 1e6).feed(Buffer.from(format.begin));
  const [event = '', data = ''] = frameOf(format.token);
  operations.push(
    [`provider ${adapter.dialect}: write a request`, () => sentText(adapter.encodeChat(translation.request, true) as UpstreamCall)],
    [`provider ${adapter.dialect}: read a reply`, () => adapter.decodeChat(format.whole)],
    [`provider ${adapter.dialect}: read a token`, () => decoder.frame(event, data, ignore)],
  );
}

const rows = [];
for (const [name, operation] of operations.filter(([name]) => new RegExp(process.env['ONLY'] ?? '').test(name))) {
  const { ns, bytes } = await measure(operation);
  rows.push([name, ns.toFixed(0), bytes.toFixed(0)]);
}
process.stdout.write(`node ${process.version}\n\n${renderTable([['one', 'ns', 'bytes'], ...rows])}`);
process.exit();

async function measure(operation: Operation): Promise<{ ns: number; bytes: number }> {
  let calls = 1;
  for (let ms = 0; ms < ROUND_MS; calls *= 2) ms = cpuMs(operation, calls);
  const figures: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    figures.push((cpuMs(operation, calls) / calls) * 1e6);
    // Lets the log's writer write, as it does between chats.
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  const before = process.memoryUsage().heapUsed;
  for (let call = 0; call < BYTES_CALLS; call += 1) operation();
  return { ns: quantile(figures, 0.5), bytes: Math.max(0, process.memoryUsage().heapUsed - before) / BYTES_CALLS };
}

function cpuMs(operation: Operation, calls: number): number {
  const before = process.cpuUsage();
  for (let call = 0; call < calls; call += 1) operation();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function frameOf(frame: string): [event: string, data: string] {
  const found: [string, string][] = [];
  new SseBuffer((event, data) => found.push([event, data]), 1e6).feed(Buffer.from(frame));
  return found[0] ?? ['', ''];
}

/** What the rows call a dialect. */
function rowName(dialect: string): string {
  return { 'openai-chat': 'chat', 'openai-responses': 'responses', anthropic: 'messages' }[dialect] ?? dialect;
}
