/** How relayed answers begin and end, whatever the provider does there: told apart by what callers and operators see. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { environmentFor, startUpstream } from '../faults/upstream.ts';
import { startGateway } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { brokenText } from './dialect-clients.ts';

const CHAT = { model: 'openai/m', messages: [{ role: 'user', content: 'hi' }], stream: true };
const MESSAGES = { model: 'anthropic/m', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], stream: true };
const RESPONSES = { model: 'openai/m', input: 'hi', stream: true };

function chunk(delta: object, finish: string | null = null, index = 0): string {
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index, delta, finish_reason: finish }] })}\n\n`;
}

const HI = chunk({ role: 'assistant', content: 'Hi' });
const STOP = chunk({}, 'stop');
const DONE = 'data: [DONE]\n\n';
const COMMENT = ': keep-alive\n\n';
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

const MESSAGE = [
  '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
  '{"type":"content_block_stop","index":0}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}',
  '{"type":"message_stop"}',
];

function namedEvents(datas: readonly string[]): string {
  return datas.map((data) => `event: ${(JSON.parse(data) as { type: string }).type}\ndata: ${data}\n\n`).join('');
}

/** A gateway whose providers all answer so. */
async function startAnswering(t: TestContext, answer: (response: ServerResponse) => void, environment: Record<string, string> = {}): Promise<RunningGateway> {
  const upstream = await startUpstream(t, answer);
  return startGateway(t, { ...environmentFor(upstream), GATEWAY_MAX_RETRIES: '0', ...environment });
}

function streamed(text: string): (response: ServerResponse) => void {
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}

test('a stream that is complete when its bytes end, and says so by nothing else, ends in order', async (t) => {
  const gateway = await startAnswering(t, streamed(HI + STOP));
  assert.equal(await (await gateway.post('/v1/chat/completions', CHAT)).text(), HI + STOP);
});

test('a stream that the provider cut is told as its failure, and not as a caller who hung up', async (t) => {
  const gateway = await startAnswering(t, streamed(HI));
  await brokenText(await gateway.post('/v1/chat/completions', CHAT));
  const lineOf = (): Readonly<Record<string, unknown>> | undefined => gateway.logLines.find(({ route }) => route === 'chat_completions');
  await until(() => lineOf() !== undefined);
  const line = lineOf();
  assert.deepEqual([line?.['level'], line?.['status'], line?.['kind'], line?.['ended']], ['warn', 200, 'server', undefined]);
  const metrics = await (await gateway.get('/metrics')).text();
  assert.doesNotMatch(metrics, /^gateway_caller_disconnects_total\{.*\} [1-9]/m);
});

test('what a provider says behind the end of its answer is not passed on', async (t) => {
  const error = '{"type":"error","error":{"type":"overloaded_error","message":"prose-canary"}}';
  const gateway = await startAnswering(t, (response) => {
    const isMessages = response.req.url?.endsWith('/messages') === true;
    streamed(isMessages ? `${namedEvents(MESSAGE)}event: error\ndata: ${error}\n\n` : `${HI}${STOP}${DONE}data: ${error}\n\n`)(response);
  });
  assert.equal(await (await gateway.post('/v1/chat/completions', CHAT)).text(), HI + STOP + DONE);
  const text = await (await gateway.post('/v1/messages', MESSAGES)).text();
  assert.ok(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n'), text);
});

test('what keeps a connection alive before a relayed answer begins is a comment, since no event of a message may come before its first', async (t) => {
  let provider: ServerResponse | undefined;
  const upstream = await startUpstream(t, (response) => {
    provider = response;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(namedEvents(MESSAGE.slice(0, 2)));
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_HEARTBEAT_INTERVAL: '1ms' });
  let text = '';
  for await (const chunk of (await gateway.post('/v1/messages', MESSAGES)).body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    // By the fifth the beginning of the message is held.
    if (text.split('\n\n').length > 5) provider?.end(namedEvents(MESSAGE.slice(2)));
  }
  assert.match(text, /^(?:: keep-alive\n\n){5,}event: message_start\n/);
});

test('what keeps a connection alive within an answer is a ping where its clients know one, else a comment, relayed or not', async (t) => {
  for (const [path, body, begins, ends, alive] of [
    ['/v1/messages', MESSAGES, namedEvents(MESSAGE.slice(0, 3)), namedEvents(MESSAGE.slice(3)), PING],
    ['/v1/messages', { ...MESSAGES, model: 'openai/m' }, HI, STOP + DONE, PING],
    ['/v1/chat/completions', CHAT, HI, STOP + DONE, COMMENT],
    ['/v1/responses', { ...RESPONSES, model: 'anthropic/m' }, namedEvents(MESSAGE.slice(0, 3)), namedEvents(MESSAGE.slice(3)), COMMENT],
    ['/v1/chat/stream', { provider: 'openai', model: 'm', messages: [{ role: 'user', text: 'hi' }] }, HI, STOP + DONE, COMMENT],
  ] as const) {
    let provider: ServerResponse | undefined;
    const upstream = await startUpstream(t, (response) => {
      provider = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begins);
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_HEARTBEAT_INTERVAL: '1ms' });
    let text = '';
    for await (const chunk of (await gateway.post(path, body)).body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      // In any case, so that a wrong one fails and does not hang.
      if (text.slice(`${text}Hi`.indexOf('Hi')).replaceAll(COMMENT, PING).split(PING).length > 3) provider?.end(ends);
    }
    assert.ok(text.slice(text.indexOf('Hi')).includes(`\n\n${alive.repeat(3)}`), `${path}: ${text}`);
  }
});

test('an overload in the middle of an answer is told by its name', async (t) => {
  const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"prose-canary"}}\n\n';
  const gateway = await startAnswering(t, streamed(namedEvents(MESSAGE.slice(0, 3)) + error));
  const text = await brokenText(await gateway.post('/v1/messages', MESSAGES));
  assert.match(text, /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"anthropic failed on its side [^"]*"\},"request_id":"[^"]*"\}\n\n$/);
});

test('the events of a host that leaves their names out have them, since clients skip nameless ones', async (t) => {
  const gateway = await startAnswering(t, streamed(MESSAGE.map((data) => `data: ${data}\n\n`).join('')));
  const text = await (await gateway.post('/v1/messages', MESSAGES)).text();
  assert.equal(text, namedEvents(MESSAGE).replace('"model":"m"', '"model":"anthropic/m"'));
});

test('blank events, by which hosts keep connections alive, are not passed on to clients that would read them as JSON', async (t) => {
  const blank = 'data:\n\ndata: \n\nevent: ping\ndata:\n\n';
  const completed = '{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}';
  const response = namedEvents(['{"type":"response.created","response":{"id":"r"}}', '{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}', completed]);
  const answers = new Map([['chat/completions', HI + STOP + DONE], ['messages', namedEvents(MESSAGE)], ['responses', response]]);
  const answerTo = (path: string): string => [...answers].find(([end]) => path.endsWith(end))?.[1] ?? '';
  const gateway = await startAnswering(t, (said) => streamed(blank + answerTo(said.req.url ?? '').replaceAll('\n\n', `\n\n${blank}`))(said));
  for (const [path, body] of [['chat/completions', CHAT], ['messages', { ...MESSAGES, model: 'm' }], ['responses', RESPONSES]] as const) {
    assert.equal(await (await gateway.post(`/v1/${path}`, body)).text(), answers.get(path));
  }
});

test('the usage that only the gateway asked for is not passed on, however it is spaced', async (t) => {
  const usage = 'data: {"id": "c1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}}\n\n';
  const gateway = await startAnswering(t, streamed(HI + STOP + usage + DONE));
  assert.equal(await (await gateway.post('/v1/chat/completions', CHAT)).text(), HI + STOP + DONE);
  const asking = { ...CHAT, stream_options: { include_usage: true } };
  assert.equal(await (await gateway.post('/v1/chat/completions', asking)).text(), HI + STOP + usage + DONE);
});

test('a usage beside a choice, and a chunk without choices that says something else, are passed on unasked', async (t) => {
  const filtered = 'data: {"id":"c1","choices":[],"prompt_filter_results":[]}\n\n';
  const stopped = STOP.replace(/\}\n\n$/, ',"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}\n\n');
  const gateway = await startAnswering(t, streamed(filtered + HI + stopped + DONE));
  assert.equal(await (await gateway.post('/v1/chat/completions', CHAT)).text(), filtered + HI + stopped + DONE);
});

test('a caller whose tokens are limited is sent what the provider said, as any other is', async (t) => {
  const said = HI.replace('"id"', '"of_its_own":1.0,"id"');
  const gateway = await startAnswering(t, streamed(said + STOP + DONE), { GATEWAY_CALLER_LIMITS: 'default:tpm=100000' });
  assert.equal(await (await gateway.post('/v1/chat/completions', CHAT)).text(), said + STOP + DONE);
});

test('a stream of several choices is complete only when all of them are', async (t) => {
  const second = chunk({ content: 'Ho' }, null, 1);
  const body = { ...CHAT, n: 2 };
  const cut = await startAnswering(t, streamed(HI + second + STOP));
  await brokenText(await cut.post('/v1/chat/completions', body));
  const frames = HI + second + STOP + chunk({}, 'stop', 1) + DONE;
  const whole = await startAnswering(t, streamed(frames));
  assert.equal(await (await whole.post('/v1/chat/completions', body)).text(), frames);
});

const FOR_CALLERS = [
  { type: 'mcp_approval_request', id: 'mcpr_1', name: 'n', arguments: '{}', server_label: 's' },
  { type: 'computer_call', id: 'cu_1', call_id: 'c', status: 'completed', action: { type: 'click', x: 1.0 } },
  { type: 'shell_call', id: 'sh_1', call_id: 'c', status: 'completed', action: { commands: ['ls'] } },
  { type: 'apply_patch_call', id: 'ap_1', call_id: 'c', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
];

test('an item that only a caller of Responses can answer is passed on to one, whole and streamed, and to nobody else', async (t) => {
  for (const item of FOR_CALLERS) {
    const answer = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', output: [item], usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } };
    const whole = JSON.stringify(answer);
    const events = namedEvents([
      JSON.stringify({ type: 'response.created', sequence_number: 0, response: { ...answer, status: 'in_progress', output: [] } }),
      JSON.stringify({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item }),
      JSON.stringify({ type: 'response.output_item.done', sequence_number: 2, output_index: 0, item }),
      JSON.stringify({ type: 'response.completed', sequence_number: 3, response: answer }),
    ]);
    const gateway = await startAnswering(t, (response) => {
      if (response.req.headers.accept === 'text/event-stream') streamed(events)(response);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
    });
    for (const [isStream, expected] of [[false, whole], [true, events]] as const) {
      const response = await gateway.post('/v1/responses', { ...RESPONSES, stream: isStream });
      assert.deepEqual([response.status, await response.text()], [200, expected], item.type);
    }
    const translated = await gateway.post('/v1/messages', { ...MESSAGES, model: 'openai/m', stream: false });
    assert.equal(translated.status, 400);
    assert.match(await translated.text(), /can be answered only in its own API/);
  }
});

const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } };
const CUSTOM_CALL = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'patch', input: 'begin end' };

/** Streams up to a first piece of what is no text, and from there to their end. */
const PIECES: Readonly<Record<string, { readonly path: string; readonly body: object; readonly first: string; readonly rest: string }>> = {
  'a call of Messages': {
    path: '/v1/messages',
    body: { ...MESSAGES, model: 'anthropic/m' },
    first: namedEvents([
      (MESSAGE[0] ?? '').replace('"model":"m"', '"model":"anthropic/m"'),
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
      '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":"}}',
    ]),
    rest: namedEvents(['{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}', ...MESSAGE.slice(3)]),
  },
  'a call of Chat Completions': {
    path: '/v1/chat/completions',
    body: CHAT,
    first: chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: '' } }] }),
    rest: chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }) + chunk({}, 'tool_calls') + DONE,
  },
  'what is spoken': {
    path: '/v1/chat/completions',
    body: { ...CHAT, modalities: ['text', 'audio'] },
    first: chunk({ role: 'assistant', content: null, audio: { id: 'a', data: 'AAAA' } }),
    rest: chunk({ audio: { data: 'BBBB' } }) + STOP + DONE,
  },
  'a call of Responses': {
    path: '/v1/responses',
    body: RESPONSES,
    first: namedEvents([
      JSON.stringify({ type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', output: [] } }),
      JSON.stringify({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...CUSTOM_CALL, input: '' } }),
      JSON.stringify({ type: 'response.custom_tool_call_input.delta', sequence_number: 2, output_index: 0, item_id: 'ctc_1', delta: 'begin' }),
    ]),
    rest: namedEvents([
      JSON.stringify({ type: 'response.output_item.done', sequence_number: 3, output_index: 0, item: CUSTOM_CALL }),
      JSON.stringify({ type: 'response.completed', sequence_number: 4, response: { ...RESPONSE, status: 'completed', output: [CUSTOM_CALL] } }),
    ]),
  },
};

/** As hosts send them that name no events. */
const NAMELESS: { path: string; body: object; first: string; rest: string } = { ...(PIECES['a call of Responses'] ?? assert.fail()) };
for (const text of ['first', 'rest'] as const) NAMELESS[text] = NAMELESS[text].replaceAll(/^event: .*\n/gm, '');

for (const [what, { path, body, first, rest }] of Object.entries({ ...PIECES, 'a call of Responses whose events have no names': NAMELESS })) {
  test(`${what} is passed on piece by piece, also where an answer begins with it`, async (t) => {
    let goOn = (): void => assert.fail('nobody was asked');
    const gateway = await startAnswering(t, (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(first);
      goOn = () => void response.end(rest);
    });
    const response = await gateway.post(path, body);
    let text = '';
    for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(bytes).toString();
      // The rest is sent once the beginning was seen.
      if (text === first) goOn();
    }
    assert.equal(text, first + rest);
  });
}

test('an item that only a caller of Responses can answer is passed on also from a host that names no events', async (t) => {
  const answer = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: FOR_CALLERS };
  const items = FOR_CALLERS.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item }));
  const events = [{ type: 'response.created', response: { ...answer, status: 'in_progress', output: [] } }, ...items, { type: 'response.completed', response: answer }];
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const gateway = await startAnswering(t, streamed(text));
  const response = await gateway.post('/v1/responses', RESPONSES);
  assert.deepEqual([response.status, await response.text()], [200, text]);
});

test('events before the answer itself are held up to a limit', async (t) => {
  const event = `event: response.web_search_call.searching\ndata: {"type":"response.web_search_call.searching","padding":"${'x'.repeat(1024 * 1024)}"}\n\n`;
  const gateway = await startAnswering(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // A write behind the end of its connection is told at once, before anybody is told of the end.
    const more = (): void => {
      if (!response.destroyed) response.write(event, () => setImmediate(more));
    };
    more();
  });
  const response = await gateway.post('/v1/responses', RESPONSES);
  assert.equal(response.status, 502);
  assert.match(await response.text(), /before its answer begins/);
});

test('an answer that was declined is relayed whole, with what it cost and why', async (t) => {
  const refused = '{"id":"msg_1","type":"message","role":"assistant","model":"anthropic/m","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber"},"usage":{"input_tokens":7,"output_tokens":1}}';
  const gateway = await startAnswering(t, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(refused.replace('anthropic/m', 'm')));
  const response = await gateway.post('/v1/messages', { ...MESSAGES, stream: false });
  assert.deepEqual([response.status, await response.text()], [200, refused]);
});

/** A call whose arguments the model did not write as a JSON object. */
const BROKEN = '{"city": "Os';

/** Whole answers and streams that end with such a call, by path. */
const BROKEN_CALLS: Readonly<Record<string, { readonly body: object; readonly whole?: string; readonly stream: string }>> = {
  '/v1/chat/completions': {
    body: CHAT,
    whole: JSON.stringify({
      id: 'c1', object: 'chat.completion', model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: BROKEN } }] }, finish_reason: 'tool_calls' }],
    }),
    stream: chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: BROKEN } }] }) + chunk({}, 'tool_calls') + DONE,
  },
  '/v1/responses': {
    body: RESPONSES,
    whole: JSON.stringify({ ...RESPONSE, status: 'completed', output: [{ type: 'function_call', id: 'fc_1', call_id: 't', name: 'f', arguments: BROKEN, status: 'completed' }] }),
    // Without names of events, as some hosts send them.
    stream: [
      { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', output: [] } },
      { type: 'response.output_item.done', sequence_number: 1, output_index: 0, item: { type: 'function_call', id: 'fc_1', call_id: 't', name: 'f', arguments: BROKEN, status: 'completed' } },
      { type: 'response.completed', sequence_number: 2, response: { ...RESPONSE, status: 'completed', output: [] } },
    ].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
  },
  '/v1/messages': {
    body: MESSAGES,
    stream: namedEvents([
      (MESSAGE[0] ?? '').replace('"model":"m"', '"model":"anthropic/m"'),
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
      JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: BROKEN } }),
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}',
      '{"type":"message_stop"}',
    ]),
  },
};

for (const [path, { body, whole, stream }] of Object.entries(BROKEN_CALLS)) {
  test(`arguments that are no JSON object are for the caller of ${path} to judge where they are relayed, and a failure where they are translated`, async (t) => {
    let calls = 0;
    const gateway = await startAnswering(t, (response) => {
      calls += 1;
      if (whole === undefined || response.req.headers.accept === 'text/event-stream') streamed(stream)(response);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
    });
    for (const [isStream, expected] of [[true, stream], [false, whole]] as const) {
      if (expected === undefined) continue;
      const response = await gateway.post(path, { ...body, stream: isStream });
      assert.deepEqual([response.status, await response.text()], [200, expected], `stream: ${isStream}`);
    }
    assert.equal(calls, whole === undefined ? 1 : 2);
    const { model } = body as { readonly model: string };
    const translated = await gateway.post('/v1/chat/stream', { provider: model.split('/')[0], model: 'm', messages: [{ role: 'user', text: 'hi' }] });
    assert.equal(translated.status, 502);
  });
}
