/** Conversations that one provider began and another goes on with, which they are relayed to. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../running-gateway.ts';

const ONE_CALLER = { GATEWAY_MAX_RETRIES: '0' };
const SEVERAL_CALLERS = { ...ONE_CALLER, GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' };
const OTHERS = ['anthropic', 'gemini', 'compat'];
const HI = { role: 'user', content: 'hi' };
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };

type Said = { readonly type?: string; readonly id?: string; readonly call_id?: string; readonly tool_calls?: readonly { readonly id: string }[] };

/** How a format asks, what of an answer goes back, and what answers its calls. */
type Format = {
  readonly path: string;
  /** Where the turn is that was begun elsewhere. */
  readonly place: RegExp;
  ask(conversation: readonly object[]): object;
  said(answer: string, isStream: boolean): readonly Said[];
  results(said: readonly Said[]): readonly object[];
};

const FORMATS: readonly Format[] = [
  {
    path: '/v1/responses',
    place: /^input\[1\]/,
    ask: (input) => ({ input, store: false, tools: [{ type: 'function', name: 'weather', strict: false, parameters: PARAMETERS }] }),
    said: (answer, isStream) => (isStream ? (dataOf(answer).at(-1) as { response: { output: Said[] } }).response : (JSON.parse(answer) as { output: Said[] })).output,
    results: (said) => said.filter(({ type }) => type === 'function_call').map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: '14' })),
  },
  {
    path: '/v1/chat/completions',
    place: /^messages\[1\]/,
    ask: (messages) => ({ messages, tools: [{ type: 'function', function: { name: 'weather', parameters: PARAMETERS } }] }),
    said: (answer, isStream) => [isStream ? putTogether(answer) : (JSON.parse(answer) as { choices: [{ message: Said }] }).choices[0].message],
    results: ([message]) => (message?.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '14' })),
  },
];

function dataOf(stream: string): readonly unknown[] {
  return [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? '') as unknown);
}

/** The message that a stream's deltas are, put together as SDKs do it. */
function putTogether(stream: string): Said {
  const message: Record<string, unknown> = {};
  for (const { choices } of dataOf(stream) as { choices: { delta: Record<string, unknown> }[] }[]) {
    for (const [name, value] of Object.entries(choices[0]?.delta ?? {})) {
      const before = message[name];
      if (typeof value === 'string') message[name] = String(before ?? '') + value;
      else if (Array.isArray(value)) message[name] = [...((before as object[] | undefined) ?? []), ...value.map(({ index: _index, ...call }: { index: number }) => call)];
      else message[name] = value;
    }
  }
  return message;
}

for (const format of FORMATS) {
  for (const [callers, settings] of Object.entries({ 'one caller': ONE_CALLER, 'several callers': SEVERAL_CALLERS })) {
    test(`${format.path}: what another provider thought, said and called goes on at the one that is relayed to, with ${callers}`, async (t) => {
      const gateway = await startGateway(t, settings);
      const answerOf = async (model: string, conversation: readonly object[], isStream: boolean): Promise<readonly [string, string | null]> => {
        const response = await gateway.post(format.path, { model, stream: isStream, ...format.ask(conversation) });
        const text = await response.text();
        assert.equal(response.status, 200, `${model}: ${text}`);
        return [text, response.headers.get('x-gateway-ignored')];
      };
      for (const other of OTHERS) {
        for (const model of ['fake-thinking', 'fake-interleaved']) {
          for (const isStream of [false, true]) {
            const said = format.said((await answerOf(`${other}/${model}`, [HI], isStream))[0], isStream);
            const results = format.results(said);
            const [, ignored] = await answerOf(`openai/${model}`, [HI, ...said, ...(results.length === 0 ? [HI] : results)], isStream);
            assert.match(ignored ?? '', format.place, `${other} ${model}`);
          }
        }
      }
    });
  }
}
