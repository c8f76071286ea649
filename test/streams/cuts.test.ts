/** A stream that is cut before its provider said that it is complete is never a short answer. */

import assert from 'node:assert/strict';
import http from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import type { Adapter } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { corpusAbsent, readRecording, recordings } from '../corpus.ts';
import { decodeChunks, endOf, sseFrom } from '../decode-stream.ts';
import { framesOf, TOKEN, user } from '../running-gateway.ts';
import type { ReplyBody } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK } from '../upstream/raw-server.ts';
import { readFixture, splitFrames, startRawGateway, terminalBytes } from './wires.ts';

const FIXTURES = [
  'anthropic/text', 'anthropic/tools', 'anthropic/server-tools', 'anthropic/cut-call',
  'openai-chat/text', 'openai-chat/tools', 'openai-chat/reasoning', 'gemini/text', 'gemini/tools', 'gemini/signed-ending',
];

function adapterOf(provider: string): Adapter {
  const row = PROVIDER_ROWS.find(({ name }) => name === provider) ?? compatRow(provider);
  return row.createAdapter(provider);
}

function isDone(adapter: Adapter, bytes: Buffer): boolean {
  return !(endOf(decodeChunks(adapter, [bytes])) instanceof Failure);
}

describe('decoders', () => {
  for (const name of FIXTURES) {
    test(`${name} cut at each byte before its terminal signal fails, and is whole from there on`, () => {
      const dialect = name.slice(0, name.indexOf('/'));
      const sse = Buffer.from(readFixture(name));
      const wholeFrom = terminalBytes(dialect, sse.toString());
      const wrong: number[] = [];
      for (let kept = 0; kept <= sse.length; kept += 1) {
        if (isDone(adapterOf(dialect), sse.subarray(0, kept)) !== kept >= wholeFrom) wrong.push(kept);
      }
      assert.deepEqual(wrong, []);
      assert.ok(wholeFrom <= sse.length);
    });
  }

  test('every recorded stream cut after each frame before its terminal signal fails', { skip: corpusAbsent }, () => {
    const wrong: string[] = [];
    let cuts = 0;
    for (const dialect of ['anthropic-messages', 'openai-chat', 'gemini'] as const) {
      for (const recording of recordings(dialect, 'stream').filter(({ file }) => /\.(sse|jsonl)$/.test(file))) {
        const sse = sseFrom(recording.file, readRecording(recording)).toString();
        const end = terminalBytes(dialect, sse);
        const adapter = adapterOf(dialect === 'openai-chat' ? recording.provider : dialect === 'gemini' ? 'gemini' : 'anthropic');
        let kept = '';
        for (const frame of ['', ...splitFrames(sse)]) {
          kept += frame;
          if (Buffer.byteLength(kept) >= end) break;
          cuts += 1;
          if (isDone(adapter, Buffer.from(kept))) wrong.push(`${recording.file} after ${kept.length} characters`);
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(cuts > 1000, `${cuts} cuts`);
  });

  const halfCalls: readonly (readonly [provider: string, frames: string])[] = [
    ['anthropic', readFixture('anthropic/tools').replace('null}"}}', 'null"}}')],
    ['openai', readFixture('openai-chat/tools').replace('12345678901234567890}', '12345')],
    ['compat', readFixture('openai-chat/tools').replace('12345678901234567890}', '12345').replace('"tool_calls"}]', '"stop"}]')],
    ['gemini', 'data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}]}}]},"finishReason":"STOP"}]}\n\n'],
  ];
  for (const [provider, sse] of halfCalls) {
    test(`${provider}: half a call is a failure even where the provider says that the answer is complete`, () => {
      const deltas = decodeChunks(adapterOf(provider), [Buffer.from(sse)]);
      const end = endOf(deltas);
      assert.ok(end instanceof Failure, JSON.stringify(deltas));
      assert.equal(end.kind, 'server');
    });
  }
});

const CONNECTIONS = 16;

type CutKind = 'end' | 'reset' | 'bad-chunk' | 'short-body';
const CUT_KINDS: readonly CutKind[] = ['end', 'reset', 'bad-chunk', 'short-body'];

/** Sends the bytes and then breaks the response off in that way. */
function sendCut(socket: Socket, bytes: Buffer, kind: CutKind): void {
  const chunk = bytes.length === 0 ? '' : `${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`;
  const write = (text: string, done: () => void = () => undefined): void => void socket.write(text, 'latin1', done);
  switch (kind) {
    case 'end':
      return write(CHUNKED_HEAD + chunk + LAST_CHUNK);
    case 'reset':
      return write(CHUNKED_HEAD + chunk, () => socket.resetAndDestroy());
    case 'bad-chunk':
      return write(`${CHUNKED_HEAD}${chunk}this is no chunk\r\n`, () => socket.end());
    case 'short-body':
      return write(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${bytes.length + 1}\r\n\r\n${bytes.toString('latin1')}`,
        () => socket.end(),
      );
  }
}

type Answer = { readonly status: number; readonly text: string };

function post(url: string, agent: http.Agent, body: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}/v1/chat/stream`, { method: 'POST', agent, headers: { authorization: `Bearer ${TOKEN}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}

/** How an answer ended, in one word; anything that is neither a good nor a failed ending throws. */
function endingOf({ status, text }: Answer): string {
  if (status !== 200) {
    assert.deepEqual([status, (JSON.parse(text) as ReplyBody).kind], [502, 'server'], text);
    return 'status';
  }
  const frames = framesOf(text);
  const endings = frames.filter(({ type }) => type === 'done' || type === 'error');
  assert.equal(endings.length, 1, text);
  assert.equal(frames.at(-1), endings[0]);
  return endings[0]?.type ?? '';
}

/** Every byte in one of the ways to break off, and the end of every frame in all of them; `frameEndsOnly` leaves out the others. */
function cutsOf(sse: string, frameEndsOnly: boolean): { readonly kept: number; readonly kind: CutKind }[] {
  const frameEnds = new Set<number>();
  let end = 0;
  for (const frame of splitFrames(sse)) frameEnds.add((end += Buffer.byteLength(frame)));
  return Array.from({ length: end + 1 }, (_, kept) => kept).flatMap((kept) => {
    if (frameEnds.has(kept)) return CUT_KINDS.map((kind) => ({ kept, kind }));
    return frameEndsOnly ? [] : [{ kept, kind: CUT_KINDS[kept % CUT_KINDS.length] ?? 'end' }];
  });
}

const SWEEPS = [
  { provider: 'anthropic', name: 'anthropic/text', transport: 'wire' },
  { provider: 'openai', name: 'openai-chat/tools', transport: 'wire' },
  { provider: 'gemini', name: 'gemini/tools', transport: 'wire' },
  { provider: 'openai', name: 'openai-chat/text', transport: 'http' },
  { provider: 'anthropic', name: 'anthropic/tools', transport: 'fetch' },
] as const;

describe('the gateway', () => {
  for (const { provider, name, transport } of SWEEPS) {
    const where = transport === 'fetch' ? 'after any frame' : 'at any byte';
    test(`${provider} over ${transport}: a stream broken off ${where}, in whatever way, ends in error or in a status`, async (t) => {
      const sse = Buffer.from(readFixture(name));
      const wholeFrom = terminalBytes(provider, sse.toString());
      const onRequest = (socket: Socket, { head, body }: { head: string; body: string }): void => {
        const [, kept, kind] = /cut-(\d+)-([a-z-]+)/.exec(head + body) ?? [];
        sendCut(socket, sse.subarray(0, Number(kept)), kind as CutKind);
      };
      const environment = { GATEWAY_TRANSPORT: transport, GATEWAY_MAX_RETRIES: '0', GATEWAY_LOG_LEVEL: 'error' };
      const { gateway } = await startRawGateway(t, { onRequest }, environment);
      const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
      t.after(() => agent.destroy());
      const cuts = cutsOf(sse.toString(), transport === 'fetch');
      const wrong: string[] = [];
      const worker = async (): Promise<void> => {
        for (let cut = cuts.pop(); cut !== undefined; cut = cuts.pop()) {
          const { kept, kind } = cut;
          const ending = endingOf(await post(gateway.url, agent, { provider, model: `cut-${kept}-${kind}`, messages: [user('x')] }));
          const isWhole = kept >= wholeFrom;
          // Once the answer is whole, a break in its transfer is the provider's affair: it may still count as failed.
          if (isWhole ? kind === 'end' && ending !== 'done' : ending === 'done') wrong.push(`${kept} ${kind}: ${ending}`);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      assert.deepEqual(wrong, []);
    });
  }

  test('what is left of a good ending after the terminal signal may be missing', async (t) => {
    const sse = readFixture('openai-chat/text').replace('data: [DONE]\n\n', '');
    const { gateway } = await startRawGateway(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf(sse) + LAST_CHUNK) });
    const done = (await gateway.stream({ model: 'm', messages: [user('x')] })).at(-1);
    assert.equal(done?.type, 'done');
    assert.deepEqual(done.usage, { input_tokens: 9, output_tokens: 4, cache_read_tokens: 2 });
  });
});
