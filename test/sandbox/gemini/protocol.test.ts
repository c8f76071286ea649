import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { HEADERS, at, chat, events, open, parsed, request } from '../client.ts';
import type { Answer } from '../client.ts';

type Part = Readonly<Record<string, unknown>>;
type Content = { readonly role: string; readonly parts: readonly Part[] };

const declaration = (name: string, city: object = { type: 'string', enum: ['Oslo', 'Rome'] }): object =>
  ({ name, parametersJsonSchema: { type: 'object', properties: { city } } });
const TOOLS = [{ functionDeclarations: [declaration('weather'), { name: 'clothes' }] }];
const USER: Content = { role: 'user', parts: [{ text: 'Go' }] };

function ask(sandbox: Sandbox, model: string, body: object, method = 'generateContent'): Promise<Answer> {
  return request(`${sandbox.baseUrls.gemini}/v1beta/models/${model}:${method}`, { contents: [USER], ...body }, HEADERS.gemini);
}

async function contentOf(sandbox: Sandbox, model: string, body: object): Promise<Content> {
  return at(parsed(await ask(sandbox, model, body)), 'candidates', 0, 'content') as Content;
}

function resultsFor(content: Content, output = 'rain'): Content {
  const calls = content.parts.flatMap((part) => (part['functionCall'] === undefined ? [] : [part['functionCall']]));
  const responses = calls.map((call) => ({ functionResponse: { id: at(call, 'id'), name: at(call, 'name'), response: { output } } }));
  return { role: 'user', parts: responses };
}

test('an answer says hello and counts tokens', async (t) => {
  const reply = parsed(await chat(await open(t), 'gemini', 'fake-chat'));
  assert.deepEqual(at(reply, 'candidates', 0, 'content'), {
    parts: [{ text: 'Hello from fake-chat! You wrote: Hello This answer was made up on your own machine.' }], role: 'model',
  });
  assert.equal(at(reply, 'candidates', 0, 'finishReason'), 'STOP');
  assert.deepEqual(at(reply, 'usageMetadata'), { promptTokenCount: 1, candidatesTokenCount: 15, totalTokenCount: 16 });
});

test('a stream has the same text and ends with a reason and usage', async (t) => {
  const sandbox = await open(t);
  const answer = await chat(sandbox, 'gemini', 'fake-chat', true);
  const all = events(answer.text);
  const text = all.map((chunk) => at(chunk, 'candidates', 0, 'content', 'parts', 0, 'text') ?? '').join('');
  assert.equal(text, 'Hello from fake-chat! You wrote: Hello This answer was made up on your own machine.');
  assert.ok(answer.text.endsWith('\r\n\r\n'));
  assert.deepEqual(all.map((chunk) => at(chunk, 'candidates', 0, 'finishReason')).filter((reason) => reason !== undefined), ['STOP']);
  assert.equal(at(all.at(-1), 'usageMetadata', 'totalTokenCount'), 16);
});

test('without alt=sse a stream is one JSON array', async (t) => {
  const answer = await ask(await open(t), 'fake-chat', {}, 'streamGenerateContent');
  assert.equal((JSON.parse(answer.text) as unknown[]).length, 16);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
});

test('a tool loop calls twice, then once, then answers, and signs the first call of each step', async (t) => {
  const sandbox = await open(t);
  const contents: Content[] = [USER];
  const rounds: unknown[] = [];
  for (let round = 0; round < 3; round += 1) {
    const content = await contentOf(sandbox, 'fake-tool-loop', { contents, tools: TOOLS });
    rounds.push(content.parts.map((part) => [at(part, 'functionCall', 'name') ?? 'text', part['thoughtSignature'] !== undefined]));
    contents.push(content, resultsFor(content));
  }
  assert.deepEqual(rounds, [[['text', false], ['weather', true], ['weather', false]], [['clothes', true]], [['text', true]]]);
  assert.match(String(contents.at(-2)?.parts[0]?.['text']), /rain; rain; rain/);
});

test('a stream that was thought about ends with a signed empty part', async (t) => {
  const all = events((await chat(await open(t), 'gemini', 'fake-thinking', true)).text);
  const parts = all.map((chunk) => at(chunk, 'candidates', 0, 'content', 'parts', 0));
  assert.equal(at(parts[0], 'thought'), true);
  assert.equal(at(parts.at(-2), 'text'), '');
  assert.equal(typeof at(parts.at(-2), 'thoughtSignature'), 'string');
  assert.equal(at(all.at(-1), 'usageMetadata', 'thoughtsTokenCount'), 11);
});

test('thoughts are shown when they are asked for', async (t) => {
  const sandbox = await open(t);
  const content = await contentOf(sandbox, 'fake-chat', { generationConfig: { thinkingConfig: { includeThoughts: true } } });
  assert.deepEqual(content.parts.map((part) => part['thought']), [true, undefined]);
});

test('an answer replays: text and signatures as they came', async (t) => {
  const sandbox = await open(t);
  const content = await contentOf(sandbox, 'fake-thinking', {});
  assert.equal((await ask(sandbox, 'fake-chat', { contents: [USER, content, USER] })).status, 200);
});

test('parallel calls have no ids here, and their results need none', async (t) => {
  const sandbox = await open(t);
  const content = await contentOf(sandbox, 'fake-parallel', { tools: TOOLS });
  assert.deepEqual(content.parts.map((part) => at(part, 'functionCall', 'id')), [undefined, undefined, undefined]);
  assert.equal((await ask(sandbox, 'fake-parallel', { tools: TOOLS, contents: [USER, content, resultsFor(content)] })).status, 200);
});

test('limits, stop sequences and the calling mode are honoured', async (t) => {
  const sandbox = await open(t);
  const candidate = async (body: object): Promise<unknown> => at(parsed(await ask(sandbox, 'fake-chat', body)), 'candidates', 0);
  const short = await candidate({ generationConfig: { maxOutputTokens: 1 } });
  assert.deepEqual([at(short, 'content', 'parts', 0, 'text'), at(short, 'finishReason')], ['Hello ', 'MAX_TOKENS']);
  assert.equal(at(await candidate({ generationConfig: { stopSequences: ['fake'] } }), 'content', 'parts', 0, 'text'), 'Hello from ');
  const mode = (config: object): object => ({ tools: TOOLS, toolConfig: { functionCallingConfig: config } });
  assert.equal(at(await candidate(mode({ mode: 'ANY', allowedFunctionNames: ['clothes'] })), 'content', 'parts', 0, 'functionCall', 'name'), 'clothes');
  assert.equal(at(await candidate(mode({ mode: 'NONE' })), 'content', 'parts', 0, 'functionCall'), undefined);
});

test('a refusal has no content, a blocked prompt no candidate', async (t) => {
  const sandbox = await open(t);
  assert.deepEqual(at(parsed(await ask(sandbox, 'fake-refusal', {})), 'candidates', 0), { finishReason: 'SAFETY', index: 0 });
  for (const answer of [await ask(sandbox, 'fake-blocked', {}), await ask(sandbox, 'fake-blocked', {}, 'streamGenerateContent?alt=sse')]) {
    const reply = answer.text.startsWith('data:') ? events(answer.text)[0] : parsed(answer);
    assert.deepEqual([at(reply, 'candidates'), at(reply, 'promptFeedback', 'blockReason')], [undefined, 'PROHIBITED_CONTENT']);
  }
});

const CALLED: Content = { role: 'model', parts: [{ functionCall: { name: 'weather', args: {} }, thoughtSignature: 'skip_thought_signature_validator' }] };
const RESULT = { functionResponse: { name: 'weather', response: { output: 'x' } } };
const answered = (...parts: readonly object[]): object => ({ contents: [USER, CALLED, { role: 'user', parts }] });
const parts = (...some: readonly object[]): object => ({ contents: [{ role: 'user', parts: some }] });
const schema = (parameters: object): object => ({ tools: [{ functionDeclarations: [{ name: 'f', parameters }] }] });
const calling = (config: object, tools: object[] = TOOLS): object => ({ tools, toolConfig: { functionCallingConfig: config } });

const REFUSED: readonly (readonly [what: string, body: object, message: RegExp])[] = [
  ['an unknown name', { colour: 1 }, /^Invalid JSON payload received\. Unknown name "colour": Cannot find field\.$/],
  ['a name in another case', { generation_config: {} }, /Unknown name "generation_config"/],
  ['an unknown name of a part', parts({ text: 'x', id: 1 }), /Unknown name "id" at 'contents\[0\]\.parts\[0\]'/],
  ['a wrong type', { generationConfig: { topP: 'x' } }, /^Invalid value at 'generation_config\.top_p'/],
  ['a schema beyond the subset', schema({ type: 'object', $schema: 'x' }), /Unknown name "\$schema" at 'tools\[0\]\.function_declarations\[0\]\.parameters'/],
  ['a nested schema beyond the subset', schema({ type: 'object', properties: { a: { type: 'object', additionalProperties: false } } }), /"additionalProperties" at 'tools\[0\]\.function_declarations\[0\]\.parameters\.properties\.a'/],
  ['both kinds of schema', { tools: [{ functionDeclarations: [{ name: 'f', parameters: {}, parametersJsonSchema: {} }] }] }, /mutually exclusive/],
  ['a wrong name of a function', { tools: [{ functionDeclarations: [{ name: '1f' }] }] }, /Invalid function name/],
  ['a name of a function with a space', { tools: [{ functionDeclarations: [{ name: 'f g' }] }] }, /Invalid function name/],
  ['a name of a function with 129 characters', { tools: [{ functionDeclarations: [{ name: 'f'.repeat(129) }] }] }, /Invalid function name/],
  ['two functions of a name', { tools: [...TOOLS, ...TOOLS] }, /Duplicate function declaration/],
  ['no contents', { contents: [] }, /contents is not specified/],
  ['empty parts', { contents: [{ role: 'user', parts: [] }] }, /contents\.parts must not be empty/],
  ['contents without parts', { contents: [{ role: 'user' }] }, /contents\[0\]\.parts: parts is not specified/],
  ['a part without data', parts({ thought: true }), /required oneof field 'data' must have one initialized field/],
  ['a part with two data', parts({ text: 'x', functionCall: { name: 'f' } }), /required oneof field 'data'/],
  ['an empty text', parts({ text: '' }), /must have a text parameter/],
  ['an unknown role', { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }, USER] }, /valid role: user, model/],
  ['two turns in a row', { contents: [USER, USER] }, /alternate between user and model/],
  ['a model that speaks last', { contents: [USER, { role: 'model', parts: [{ text: 'x' }] }] }, /end with a user role or a function response/],
  ['a call that comes first', { contents: [CALLED, { role: 'user', parts: [RESULT] }] }, /comes immediately after a user turn/],
  ['an unanswered call', answered({ text: 'x' }), /number of function response parts is equal/],
  ['a result too many', answered(RESULT, RESULT), /number of function response parts is equal/],
  ['a result without a call', parts(RESULT), /comes immediately after a function call turn/],
  ['a result without a name', answered({ functionResponse: { response: {} } }), /function_response\.name: Name cannot be empty/],
  ['a result of another name', answered({ functionResponse: { name: 'x', response: {} } }), /have the names and ids/],
  ['a result of another id', answered({ functionResponse: { ...RESULT.functionResponse, id: 'x' } }), /have the names and ids/],
  ['a forged signature on text', { contents: [USER, { role: 'model', parts: [{ text: 'x', thoughtSignature: 'AAAA' }] }, USER] }, /^Corrupted thought signature\.$/],
  ['a forced call without functions', calling({ mode: 'ANY' }, []), /set without function_declarations/],
  ['allowed names without force', calling({ mode: 'AUTO', allowedFunctionNames: ['weather'] }), /only be set when the function calling mode is ANY/],
  ['an allowed name that is not declared', calling({ mode: 'ANY', allowedFunctionNames: ['x'] }), /subset of the names/],
  ['a level and a budget', { generationConfig: { thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 5 } } }, /only set one of thinking budget and thinking level/],
  ['six stop sequences', { generationConfig: { stopSequences: ['1', '2', '3', '4', '5', '6'] } }, /must not exceed 5/],
];

for (const [what, body, message] of REFUSED) {
  test(`${what} is refused by Gemini`, async (t) => {
    const answer = await ask(await open(t), 'fake-chat', body);
    const error = at(JSON.parse(answer.text), 'error');
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual([at(error, 'code'), at(error, 'status')], [400, 'INVALID_ARGUMENT']);
    assert.match(String(at(error, 'message')), message);
  });
}

test('the widest of names, schemas of its own kind, a model that speaks first and what goes together are taken by Gemini', async (t) => {
  const sandbox = await open(t);
  const named = (name: string): object => ({ tools: [{ functionDeclarations: [{ name, parameters: { type: 'object' } }] }] });
  for (const body of [
    named(`_aZ9.:-${'x'.repeat(121)}`),
    named('Z'),
    { contents: [{ role: 'model', parts: [{ text: 'x' }] }, USER] },
    calling({ mode: 'VALIDATED', allowedFunctionNames: ['weather'] }),
    { generationConfig: { stopSequences: ['1', '2', '3', '4', '5'], thinkingConfig: { thinkingBudget: 5 } } },
  ]) {
    const answer = await ask(sandbox, 'fake-chat', body);
    assert.equal(answer.status, 200, answer.text);
  }
});

test('an error names the field in its details', async (t) => {
  const answer = await ask(await open(t), 'fake-chat', { generationConfig: { topP: 'x' } });
  const error = at(JSON.parse(answer.text), 'error');
  const violation = { field: 'generation_config.top_p', description: at(error, 'message') };
  assert.deepEqual(at(error, 'details'), [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }]);
});

test('a call of this turn needs its own signature; one of an earlier turn needs none', async (t) => {
  const sandbox = await open(t);
  const content = await contentOf(sandbox, 'fake-tool-loop', { tools: TOOLS });
  const unsigned = { ...content, parts: content.parts.map(({ thoughtSignature: _signature, ...part }) => part) };
  const moved = { ...content, parts: content.parts.map((part) => (part['text'] === undefined ? part : { ...part, thoughtSignature: content.parts[1]?.['thoughtSignature'] })) };
  const dummy = { ...content, parts: unsigned.parts.map((part, index) => (index === 1 ? { ...part, thoughtSignature: 'skip_thought_signature_validator' } : part)) };
  const answerTo = (turn: Content, ...later: readonly Content[]): Promise<Answer> =>
    ask(sandbox, 'fake-tool-loop', { tools: TOOLS, contents: [USER, turn, resultsFor(turn), ...later] });
  assert.match((await answerTo(unsigned)).text, /missing a thought_signature in functionCall parts.*`default_api:weather` , position 2/);
  assert.match((await answerTo(moved)).text, /Corrupted thought signature/);
  assert.equal((await answerTo(dummy)).status, 200);
  assert.equal((await answerTo(content)).status, 200);
  assert.equal((await answerTo(unsigned, { role: 'model', parts: [{ text: 'x' }] }, USER)).status, 200);
});

test('a body that is no JSON object is refused', async (t) => {
  const sandbox = await open(t);
  assert.match((await request(`${sandbox.baseUrls.gemini}/v1beta/models/fake-chat:generateContent`, 'x', HEADERS.gemini)).text, /Invalid JSON payload received/);
});

test('models come in two pages, one of them for another purpose', async (t) => {
  const sandbox = await open(t);
  const page = async (query: string): Promise<unknown> => (await fetch(`${sandbox.baseUrls.gemini}/v1beta/models${query}`, { headers: HEADERS.gemini })).json();
  const first = await page('?pageSize=1000');
  const second = await page(`?pageToken=${String(at(first, 'nextPageToken'))}`);
  assert.equal(at(second, 'nextPageToken'), undefined);
  const names = [...(at(first, 'models') as Part[]), ...(at(second, 'models') as Part[])].map((model) => model['name']);
  assert.deepEqual(names, ['models/fake-chat', 'models/fake-tool-loop', 'models/fake-thinking', 'models/fake-embedding']);
});
