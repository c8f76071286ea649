/** The sandbox counts tokens where the real providers do, as strictly as they do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADERS, open, request } from './client.ts';

const USER = { role: 'user', content: 'one two three' };
const CONTENTS = [{ role: 'user', parts: [{ text: 'one two three' }] }];
const SYSTEM = { parts: [{ text: 'four' }] };

for (const [what, protocol, path, body, status, expected] of [
  ['a count of Anthropic', 'anthropic', '/v1/messages/count_tokens', { model: 'm', messages: [USER], system: 'four' }, 200, /^\{"input_tokens":4\}$/],
  ['max_tokens, which is not counted', 'anthropic', '/v1/messages/count_tokens', { model: 'm', messages: [USER], max_tokens: 1 }, 400, /max_tokens: Extra inputs are not permitted/],
  ['no message', 'anthropic', '/v1/messages/count_tokens', { model: 'm', messages: [] }, 400, /at least one message/],
  ['a fault', 'anthropic', '/v1/messages/count_tokens', { model: 'fake-status-529', messages: [USER] }, 529, /"error"/],
  ['a count of OpenAI', 'openai', '/responses/input_tokens', { model: 'm', input: 'one two three', instructions: 'four' }, 200, /^\{"object":"response.input_tokens","input_tokens":4\}$/],
  ['store, which is not counted', 'openai', '/responses/input_tokens', { model: 'm', input: 'x', store: false }, 400, /store/],
  ['a count of Gemini, contents alone', 'gemini', '/v1beta/models/m:countTokens', { contents: CONTENTS }, 200, /^\{"totalTokens":3,"promptTokensDetails":\[\{"modality":"TEXT","tokenCount":3\}\]\}$/],
  ['a count of Gemini, a whole request', 'gemini', '/v1beta/models/m:countTokens', { generateContentRequest: { model: 'models/m', contents: CONTENTS, systemInstruction: SYSTEM } }, 200, /^\{"totalTokens":4,/],
  ['another model than that of the path', 'gemini', '/v1beta/models/m:countTokens', { generateContentRequest: { model: 'models/n', contents: CONTENTS } }, 400, /must be that of the path/],
  ['a system text beside the contents', 'gemini', '/v1beta/models/m:countTokens', { contents: CONTENTS, systemInstruction: SYSTEM }, 400, /systemInstruction/],
  ['a count of a compatible host', 'compat', '/responses/input_tokens', { model: 'm', input: 'x' }, 404, /./],
] as const) {
  test(`the sandbox answers ${status} to ${what}`, async (t) => {
    const sandbox = await open(t);
    const answer = await request(sandbox.baseUrls[protocol] + path, body, HEADERS[protocol]);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, expected);
  });
}
