/**
 * What every provider has to do, whoever it is: run against the sandbox over real sockets, for each
 * provider and each transport.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Sandbox } from '../src/sandbox/index.ts';
import { startGateway, user } from './running-gateway.ts';
import type { Frame, Message, Part, ReplyBody, RunningGateway } from './running-gateway.ts';

const WEATHER = {
  name: 'weather',
  description: 'Weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } }, required: ['city'] },
};
const CLOTHES = { name: 'clothes', parameters: { type: 'object', properties: { weather: { type: 'string' } } } };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What differs between those who are held to it. */
export type Held = {
  /** For people. */
  readonly name: string;
  readonly provider: string;
  readonly transport: 'http' | 'wire' | 'fetch';
  /** What configures it, where the sandbox's own providers do not. */
  readonly environment?: (sandbox: Sandbox) => Record<string, string>;
  /** What the provider calls a model of the sandbox; the same where absent. */
  readonly modelOf?: (name: string) => string;
  /** What a request looks like there. */
  readonly form: 'plain' | 'gemini' | 'responses';
};

export function providerContract({ name, provider, transport, environment: environmentOf = () => ({}), modelOf = (model) => model, form }: Held): void {
  const environment = (sandbox: Sandbox): Record<string, string> => ({
    GATEWAY_TRANSPORT: transport,
    OPENAI_API: form === 'responses' ? 'responses' : 'chat',
    ...environmentOf(sandbox),
  });
  const impatient = (retries: string) => (sandbox: Sandbox): Record<string, string> => ({ ...environment(sandbox), GATEWAY_MAX_RETRIES: retries });

  describe(`${name} over ${transport}`, () => {
    test('a chat answers with every field of the contract', async (t) => {
      const gateway = await startGateway(t, environment);
      const { status, body } = await gateway.chat({ provider, model: modelOf('fake-chat'), messages: [user('Hello there')] });
      assert.equal(status, 200);
      assert.equal(body.provider, provider);
      assert.equal(body.model, 'fake-chat');
      assert.equal(typeof body.id, 'string');
      assert.match(body.text ?? '', /Hello there/);
      assert.equal(body.message.role, 'assistant');
      assert.deepEqual(withoutStates(body.message), [{ type: 'text', text: body.text }]);
      assert.equal(body.stop_reason, 'end_turn');
      assert.equal(body.tool_calls, undefined);
      assert.ok((body.usage?.['input_tokens'] ?? 0) > 0);
      assert.ok((body.usage?.['output_tokens'] ?? 0) > 0);
      assert.equal(body.raw, undefined);
    });

    test('a stream carries the same turn as the whole reply, and ends with done', async (t) => {
      const gateway = await startGateway(t, environment);
      const request = { provider, model: modelOf('fake-chat'), messages: [user('Same either way')] };
      const whole = (await gateway.chat(request)).body;
      const frames = await gateway.stream(request);
      const done = frames.at(-1);
      assert.equal(done?.type, 'done');
      assert.equal(textOf(frames), whole.text);
      assert.ok(frames.filter((frame) => frame.type === 'text_delta').length > 1);
      assert.deepEqual(withoutStates(done?.message), withoutStates(whole.message));
      assert.deepEqual(done?.usage, whole.usage);
      assert.equal(done?.stop_reason, 'end_turn');
      assert.equal(done?.provider, provider);
    });

    for (const way of ['whole', 'streamed'] as const) {
      test(`a tool loop of two rounds works, ${way}, with message and results appended and nothing else`, async (t) => {
        const gateway = await startGateway(t, environment);
        const messages: Message[] = [user('What to wear?')];
        const rounds: string[][] = [];
        let text: string | undefined;
        for (let round = 0; round < 5 && text === undefined; round += 1) {
          const reply = await ask(gateway, way, { provider, model: modelOf('fake-tool-loop'), messages, tools: [WEATHER, CLOTHES] });
          messages.push(reply.message);
          if (reply.stop_reason === 'tool_use') {
            const calls = reply.message.content.filter((part) => part.type === 'tool_call');
            assert.deepEqual(reply.tool_calls, calls.map(({ type: _type, ...call }) => call));
            rounds.push(calls.map((call) => call.name ?? ''));
            for (const call of calls) messages.push({ role: 'tool', content: [resultFor(call, 'rain')] });
          } else {
            text = reply.text;
          }
        }
        assert.deepEqual(rounds, [['weather', 'weather'], ['clothes']]);
        assert.match(text ?? '', /rain/);
      });
    }

    test('a loop begun on one gateway goes on at another', async (t) => {
      const first = await startGateway(t, environment);
      const second = await startGateway(t, environment);
      const messages: Message[] = [user('Go')];
      const request = { provider, model: modelOf('fake-tool-loop'), tools: [WEATHER, CLOTHES] };
      const begun = (await first.chat({ ...request, messages })).body;
      messages.push(begun.message, { role: 'tool', content: (begun.tool_calls ?? []).map((call) => resultFor(call, 'sun')) });
      assert.equal((await second.chat({ ...request, messages })).status, 200);
    });

    test('results of parallel calls may come in any order', async (t) => {
      const gateway = await startGateway(t, environment);
      const messages: Message[] = [user('Go')];
      const request = { provider, model: modelOf('fake-tool-loop'), tools: [WEATHER, CLOTHES] };
      const begun = (await gateway.chat({ ...request, messages })).body;
      const results = (begun.tool_calls ?? []).map((call) => resultFor(call, 'fog')).reverse();
      messages.push(begun.message, { role: 'tool', content: results });
      const { status, body } = await gateway.chat({ ...request, messages });
      assert.equal(status, 200, JSON.stringify(body));
    });

    for (const way of ['whole', 'streamed'] as const) {
      test(`reasoning between the calls of a turn, and at its end, comes back in its place, ${way}`, async (t) => {
        const gateway = await startGateway(t, environment);
        const request = { provider, model: modelOf('fake-interleaved'), tools: [WEATHER] };
        const messages: Message[] = [user('Go')];
        const begun = await ask(gateway, way, { ...request, messages });
        messages.push(begun.message, { role: 'tool', content: (begun.tool_calls ?? []).map((call) => resultFor(call, 'rain')) });
        const ended = await ask(gateway, way, { ...request, messages });
        messages.push(ended.message, user('And tomorrow?'));
        const again = await ask(gateway, way, { ...request, messages });
        assert.deepEqual([begun, ended, again].map((reply) => reply.tool_calls?.length ?? 0), [2, 0, 2]);
        messages.push(again.message, { role: 'tool', content: (again.tool_calls ?? []).map((call) => resultFor(call, 'sun')) });
        assert.match((await ask(gateway, way, { ...request, messages })).text ?? '', /sun/);
      });
    }

    test('parallel calls to one function are answered in any order, each in a message of its own or together', async (t) => {
      const gateway = await startGateway(t, environment);
      const request = { provider, model: modelOf('fake-parallel'), tools: [WEATHER] };
      const begun = (await gateway.chat({ ...request, messages: [user('Go')] })).body;
      const calls = begun.tool_calls ?? [];
      assert.deepEqual(calls.map((call) => call.name), ['weather', 'weather', 'weather']);
      assert.equal(new Set(calls.map((call) => call.id)).size, 3);
      const results = calls.map((call, index) => resultFor(call, `result-${index}`)).reverse();
      const [last = {}, ...others] = results;
      for (const answers of [[results], results.map((result) => [result]), [[last], others]]) {
        const messages = [user('Go'), begun.message, ...answers.map((content) => ({ role: 'tool', content }))];
        const { status, body } = await gateway.chat({ ...request, messages });
        assert.equal(status, 200, JSON.stringify(body));
        for (const index of [0, 1, 2]) assert.ok(body.text?.includes(`result-${index}`), JSON.stringify(body));
      }
    });

    test('a failed tool is told to the model, also when it says nothing', async (t) => {
      const gateway = await startGateway(t, environment);
      const request = { provider, model: modelOf('fake-parallel'), tools: [WEATHER] };
      const begun = (await gateway.chat({ ...request, messages: [user('Go')] })).body;
      const [first, second, third] = begun.tool_calls ?? [];
      const content = [
        { ...resultFor(first as Part, 'no such city'), is_error: true },
        { ...resultFor(second as Part, ''), is_error: true },
        resultFor(third as Part, ''),
      ];
      const { status, body } = await gateway.chat({ ...request, messages: [user('Go'), begun.message, { role: 'tool', content }] });
      assert.equal(status, 200, JSON.stringify(body));
      assert.match(body.text ?? '', /no such city; Error/);
    });

    test('numbers in arguments reach the caller digit for digit, and go back so', async (t) => {
      const gateway = await startGateway(t, environment);
      const request = { provider, model: modelOf('fake-json-numbers'), messages: [user('Numbers')], tools: [WEATHER] };
      const text = await (await gateway.post('/v1/chat', request)).text();
      for (const digits of ['12345678901234567890', '1.0', '1e-7']) assert.ok(text.includes(digits), digits);
      const calls = (JSON.parse(text) as ReplyBody).tool_calls ?? [];
      const results = JSON.stringify(calls.map((call) => resultFor(call, 'ok')));
      const message = /"message":(\{"role":"assistant".*\]\}),"stop_reason"/.exec(text)?.[1];
      assert.ok(message !== undefined, text);
      await gateway.post(
        '/v1/chat',
        `{"provider":"${provider}","model":"${modelOf('fake-chat')}","tools":[{"name":"weather"}],"messages":[{"role":"user","text":"Numbers"},${message},{"role":"tool","content":${results}}]}`,
      );
      const sent = chatsOf(gateway).at(-1)?.body ?? '';
      for (const digits of ['12345678901234567890', '1.0', '1e-7']) assert.ok(sent.includes(digits), sent);
    });

    test('every field of a request is accepted by the provider', async (t) => {
      const gateway = await startGateway(t, environment);
      const { status, body } = await gateway.chat({
        provider,
        model: modelOf('fake-chat'),
        system: 'Be brief.',
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'image', media_type: 'image/png', data: PIXEL }] },
          { role: 'assistant', text: 'A pixel.' },
          user('And now?'),
        ],
        max_tokens: 200,
        temperature: 0.5,
        top_p: 0.9,
        stop: form === 'responses' ? [] : ['END'],
        tools: [WEATHER, { name: 'now' }],
        tool_choice: { mode: 'none' },
        thinking: { enabled: false },
        provider_options: {},
      });
      assert.equal(status, 200, JSON.stringify(body));
      assert.match(body.text ?? '', /And now/);
    });

    test('the four modes of tool_choice reach the provider', async (t) => {
      const gateway = await startGateway(t, environment);
      const expected: [object, string][] = [
        [{ mode: 'auto' }, 'tool_use'],
        [{ mode: 'none' }, 'end_turn'],
        [{ mode: 'required' }, 'tool_use'],
        [{ mode: 'tool', name: 'clothes' }, 'tool_use'],
      ];
      for (const [choice, stopReason] of expected) {
        const model = stopReason === 'end_turn' || 'name' in choice ? 'fake-chat' : 'fake-tool-loop';
        const { body } = await gateway.chat({ provider, model: modelOf(model), messages: [user('Go')], tools: [WEATHER, CLOTHES], tool_choice: choice });
        assert.equal(body.stop_reason, stopReason, JSON.stringify(choice));
        if ('name' in choice) assert.equal(body.tool_calls?.[0]?.name, 'clothes');
      }
    });

    test('a stop at max_tokens says so', async (t) => {
      const gateway = await startGateway(t, environment);
      const request = { provider, model: modelOf('fake-chat'), messages: [user('A long story please')], max_tokens: 2 };
      assert.equal((await gateway.chat(request)).body.stop_reason, 'max_tokens');
      assert.equal((await gateway.stream(request)).at(-1)?.stop_reason, 'max_tokens');
    });

    test('an empty answer is a good answer', async (t) => {
      const gateway = await startGateway(t, environment);
      const { status, body } = await gateway.chat({ provider, model: modelOf('fake-empty'), messages: [user('Say nothing')] });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.text, '');
      const again = await gateway.chat({ provider, model: modelOf('fake-chat'), messages: [user('Say nothing'), body.message, user('More')] });
      assert.equal(again.status, 200, JSON.stringify(again.body));
    });

    test('a refusal without content is 422 refusal on both endpoints', async (t) => {
      const gateway = await startGateway(t, environment);
      for (const path of ['/v1/chat', '/v1/chat/stream']) {
        const response = await gateway.post(path, { provider, model: modelOf('fake-refusal'), messages: [user('No')] });
        assert.equal(response.status, 422, path);
        assert.equal(((await response.json()) as ReplyBody).kind, 'refusal');
      }
    });

    const statuses: [number, number, string][] = [
      [400, 400, 'bad_request'],
      [401, 502, 'auth'],
      [403, 502, 'auth'],
      [404, 404, 'not_found'],
      [413, 400, 'bad_request'],
      [422, 400, 'bad_request'],
      [429, 429, 'rate_limit'],
      [500, 502, 'server'],
      [503, 502, 'server'],
    ];
    test("each of the provider's failures becomes its kind, on both endpoints, without the provider's prose", async (t) => {
      const gateway = await startGateway(t, impatient('0'));
      for (const [upstream, status, kind] of statuses) {
        for (const path of ['/v1/chat', '/v1/chat/stream']) {
          const response = await gateway.post(path, { provider, model: modelOf(`fake-status-${upstream}`), messages: [user('x')] });
          const body = (await response.json()) as ReplyBody;
          assert.equal(response.status, status, `${upstream} ${path}`);
          assert.deepEqual(Object.keys(body), ['kind', 'error']);
          assert.equal(body.kind, kind, `${upstream} ${path}`);
          assert.ok(body.error?.includes(provider) && body.error.includes(String(upstream)), JSON.stringify(body));
        }
      }
    });

    test('a failure before the first event is retried and then answered', async (t) => {
      const gateway = await startGateway(t, environment);
      for (const path of ['/v1/chat', '/v1/chat/stream']) {
        const response = await gateway.post(path, { provider, model: modelOf('fake-flaky-2'), messages: [user(`try ${path}`)] });
        assert.equal(response.status, 200, await response.text());
      }
      assert.equal(chatsOf(gateway).length, 6);
    });

    test('an overload inside a 200 stream is retried and then answered with its status', async (t) => {
      const gateway = await startGateway(t, impatient('1'));
      const response = await gateway.post('/v1/chat/stream', { provider, model: modelOf('fake-overloaded'), messages: [user('x')] });
      assert.equal(response.status, 502);
      assert.equal(((await response.json()) as ReplyBody).kind, 'server');
      assert.equal(chatsOf(gateway).length, 2);
    });

    test('a cut stream ends with error, never with done', async (t) => {
      const gateway = await startGateway(t, impatient('0'));
      for (const model of ['fake-truncate', 'fake-reset-mid', 'fake-error-mid', 'fake-bad-chunk']) {
        const frames = await gateway.stream({ provider, model: modelOf(model), messages: [user('Cut me off')] });
        assert.equal(frames.at(-1)?.type, 'error', model);
        assert.equal(frames.at(-1)?.kind, 'server', model);
        assert.ok(frames.some((frame) => frame.type === 'text_delta'), model);
        assert.ok(!frames.some((frame) => frame.type === 'done'), model);
      }
    });

    test('an answer that is no answer is 502 server', async (t) => {
      const gateway = await startGateway(t, impatient('0'));
      const models = ['fake-html', 'fake-empty-body', 'fake-204', 'fake-malformed', 'fake-wrong-shape', 'fake-gzip', 'fake-redirect'];
      for (const model of models) {
        for (const path of ['/v1/chat', '/v1/chat/stream']) {
          const response = await gateway.post(path, { provider, model: modelOf(model), messages: [user('x')] });
          const text = await response.text();
          if (response.status === 200 && path.endsWith('stream')) {
            assert.match(text, /"type":"error","kind":"server"/, `${model} ${path}`);
          } else {
            assert.equal(response.status, 502, `${model} ${path} ${text}`);
            assert.equal((JSON.parse(text) as ReplyBody).kind, 'server', `${model} ${path}`);
          }
        }
      }
    });

    test('provider_options are merged over the payload and win', async (t) => {
      const gateway = await startGateway(t, environment);
      const options = form === 'gemini' ? { generationConfig: { temperature: 0.25 } } : { temperature: 0.25 };
      await gateway.chat({ provider, model: modelOf('fake-chat'), messages: [user('x')], temperature: 1, top_p: 0.5, provider_options: options });
      const sent = JSON.parse(chatsOf(gateway)[0]?.body ?? '') as Record<string, unknown>;
      const place = (form === 'gemini' ? sent['generationConfig'] : sent) as Record<string, unknown>;
      assert.equal(place['temperature'], 0.25);
      assert.equal(place[form === 'gemini' ? 'topP' : 'top_p'], 0.5);
    });

    test('models are listed, all pages of them', async (t) => {
      const gateway = await startGateway(t, environment);
      const response = await gateway.get(`/v1/models?provider=${provider}`);
      const body = (await response.json()) as { provider: string; models: { id: string }[] };
      assert.equal(response.status, 200);
      assert.equal(body.provider, provider);
      assert.ok(body.models.length >= 2);
      assert.equal(new Set(body.models.map((model) => model.id)).size, body.models.length);
    });

    test("the key travels in the provider's header only", async (t) => {
      const gateway = await startGateway(t, environment);
      await gateway.chat({ provider, model: modelOf('fake-chat'), messages: [user('x')] });
      const call = chatsOf(gateway)[0];
      assert.ok(call !== undefined);
      assert.ok(!call.path.includes('canary') && !call.body.includes('canary'));
    });
  });
}

/** What reached the provider's API, without what was asked for credentials. */
function chatsOf({ sandbox }: RunningGateway): Sandbox['calls'] {
  return sandbox.calls.filter(({ protocol }) => protocol !== undefined);
}

function resultFor(call: Part, content: string): object {
  return { type: 'tool_result', tool_call_id: call.id, content };
}

/** The parts with content, without what only the provider understands. */
function withoutStates(message: ReplyBody['message'] | undefined): readonly Part[] {
  const parts = (message?.content ?? []).map(({ provider_state: _state, ...part }) => part);
  return parts.filter((part) => part.type !== 'text' || part.text !== '');
}

function textOf(frames: readonly Frame[]): string {
  return frames.map((frame) => (frame.type === 'text_delta' ? (frame.text ?? '') : '')).join('');
}

/** The reply of either endpoint, in the shape of the whole one. */
async function ask(gateway: RunningGateway, way: 'whole' | 'streamed', request: object): Promise<ReplyBody> {
  if (way === 'whole') {
    const { status, body } = await gateway.chat(request);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
  const frames = await gateway.stream(request);
  const done = frames.at(-1);
  assert.equal(done?.type, 'done');
  const message = done?.message;
  assert.ok(message !== undefined);
  const calls = frames.filter((frame) => frame.type === 'tool_call').map((frame) => frame.tool_call as Part);
  return { ...done, message, text: textOf(frames), tool_calls: calls };
}
