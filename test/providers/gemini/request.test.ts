import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import { makeCallId } from '../../../src/core/call-id.ts';
import type { ChatRequest, Turn } from '../../../src/core/chat.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { assistant, call, options, payload, payloadText, randomFrom, refused, requestOf, result, text, user } from './fixtures.ts';

const HI = '"contents":[{"role":"user","parts":[{"text":"Hi"}]}]';

/** What a request with these fields sends beside its contents. */
function beside(fields: Partial<ChatRequest>): string {
  const sent = payloadText(requestOf(fields));
  assert.ok(sent.startsWith(`{${HI}`), sent);
  return sent.slice(HI.length + 1).replace(/^,/, '').replace(/}$/, '');
}

const weather = { name: 'weather', description: 'Tells it', parameters: new RawJson('{"type":"object","x":1.0}'), strict: undefined };

const rows: readonly (readonly [what: string, fields: Partial<ChatRequest>, sent: string])[] = [
  ['nothing else', {}, ''],
  ['a system prompt', { system: 'Be brief' }, '"systemInstruction":{"parts":[{"text":"Be brief"}]}'],
  ['an empty system prompt', { system: '' }, ''],
  ['max_tokens', { maxTokens: 5 }, '"generationConfig":{"maxOutputTokens":5}'],
  ['temperature, also 0', { temperature: 0 }, '"generationConfig":{"temperature":0}'],
  ['top_p', { topP: 0.25 }, '"generationConfig":{"topP":0.25}'],
  ['stop', { stop: ['END', '\n'] }, '"generationConfig":{"stopSequences":["END","\\n"]}'],
  ['a tool, its schema digit for digit', { tools: [weather] }, '"tools":[{"functionDeclarations":[{"name":"weather","description":"Tells it","parametersJsonSchema":{"type":"object","x":1.0}}]}]'],
  ['a tool without description and parameters', { tools: [{ name: 'now', description: undefined, parameters: undefined, strict: undefined }] }, '"tools":[{"functionDeclarations":[{"name":"now","parametersJsonSchema":{"type":"object","properties":{}}}]}]'],
  ['tool_choice auto without tools', { toolChoice: { mode: 'auto', parallel: undefined } }, ''],
  ['tool_choice none without tools', { toolChoice: { mode: 'none', parallel: undefined } }, ''],
  ['tool_choice required without tools', { toolChoice: { mode: 'required', parallel: undefined } }, '"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}'],
  ['thinking off, where nothing lower exists', { thinking: { enabled: false, effort: undefined } }, '"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}'],
];
for (const [what, fields, sent] of rows) {
  test(`a request with ${what} sends exactly that`, () => {
    assert.equal(beside(fields), sent);
  });
}

for (const [choice, config] of [
  [{ mode: 'auto' }, { mode: 'AUTO' }],
  [{ mode: 'none' }, { mode: 'NONE' }],
  [{ mode: 'required' }, { mode: 'ANY' }],
  [{ mode: 'tool', name: 'weather' }, { mode: 'ANY', allowedFunctionNames: ['weather'] }],
] as const) {
  test(`tool_choice ${choice.mode} becomes mode ${config.mode}`, () => {
    assert.deepEqual(payload(requestOf({ tools: [weather], toolChoice: { ...choice, parallel: undefined } }))['toolConfig'], { functionCallingConfig: config });
  });
}

test('images go inline, in their place among the texts', () => {
  const turn: Turn = {
    role: 'user',
    parts: [
      { type: 'text', text: 'This', state: undefined },
      { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'iVBORw==' } },
    ],
  };
  assert.deepEqual(payload(requestOf({ turns: [turn] })).contents, [
    { role: 'user', parts: [{ text: 'This' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } }] },
  ]);
});

test('an image by URL is unsupported whatever provider_options say, and the failure names its place', () => {
  const turn: Turn = {
    role: 'user',
    parts: [{ type: 'text', text: 'a', state: undefined }, { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }],
  };
  const failure = refused(requestOf({ turns: [user('b'), assistant(text('c')), turn], providerOptions: options('{"store":false}') }));
  assert.equal(failure.kind, 'unsupported');
  assert.equal(failure.message, 'messages[2].content[1].url: Gemini takes images inline only; send base64');
});

test('Gemma gets the system prompt as the first text of the first user turn, and no text where there is none', () => {
  const sent = payload(requestOf({ model: 'models/gemma-4-31b-it', system: 'Be brief' }));
  assert.deepEqual(sent, { contents: [{ role: 'user', parts: [{ text: 'Be brief\n\n' }, { text: 'Hi' }] }] });
  assert.equal(payloadText(requestOf({ model: 'models/gemma-4-31b-it' })), `{${HI}}`);
});

test('Gemma gets the system prompt first even when the assistant begins', () => {
  const { contents } = payload(requestOf({ model: 'gemma-3-4b-it', system: 'S', turns: [assistant(text('a')), user('b')] }));
  assert.deepEqual(contents.map((content) => content.role), ['user', 'model', 'user']);
});

test('consecutive turns of one role become one content', () => {
  const turns = [user('a'), user('b'), assistant(text('c')), assistant(text('d')), user('e')];
  assert.deepEqual(payload(requestOf({ turns })).contents, [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    { role: 'user', parts: [{ text: 'e' }] },
  ]);
});

test('an empty assistant turn is left out and its neighbours become one content', () => {
  const empty = [assistant(), assistant(text('', encodeState('anthropic', 'anthropic', { x: 1 })))];
  for (const turn of empty) {
    assert.deepEqual(payload(requestOf({ turns: [user('a'), turn, user('b')] })).contents, [
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    ]);
  }
});

test('tool results go into one user content, in the order of the calls, before what the user adds', () => {
  const turns = [
    user('go'),
    assistant(text('wait'), call('id-1', 'first', '{"n":1.0}'), call('id-2', 'second')),
    result('id-2', 'two'),
    result('id-1', 'broken', true),
    user('and?'),
  ];
  assert.equal(
    payloadText(requestOf({ model: 'gemini-2.5-flash', turns })),
    '{"contents":[{"role":"user","parts":[{"text":"go"}]},' +
      '{"role":"model","parts":[{"text":"wait"},{"functionCall":{"id":"id-1","name":"first","args":{"n":1.0}}},{"functionCall":{"id":"id-2","name":"second","args":{}}}]},' +
      '{"role":"user","parts":[{"functionResponse":{"id":"id-1","name":"first","response":{"error":"broken"}}},' +
      '{"functionResponse":{"id":"id-2","name":"second","response":{"output":"two"}}},{"text":"and?"}]}]}',
  );
});

test('an id that the gateway made is sent neither with the call nor with its result', () => {
  const made = makeCallId();
  const { contents } = payload(requestOf({ model: 'gemini-2.5-flash', turns: [user('go'), assistant(call(made, 'f')), result(made, 'x')] }));
  assert.deepEqual(contents.slice(1), [
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'x' } } }] },
  ]);
});

test('a call made by another provider goes to Gemini with its id', () => {
  const turns = [user('a'), assistant(call('toolu_01', 'f')), result('toolu_01', 'x')];
  assert.deepEqual(payload(requestOf({ model: 'gemini-2.5-pro', turns })).contents[1]?.parts, [{ functionCall: { id: 'toolu_01', name: 'f', args: {} } }]);
});

test('a result is named after the call of the nearest turn, when an id comes twice', () => {
  const turns = [user('go'), assistant(call('a', 'old')), result('a', '1'), assistant(call('a', 'new')), result('a', '2')];
  const { contents } = payload(requestOf({ model: 'gemini-2.5-flash', turns }));
  assert.deepEqual(contents.at(-1)?.parts, [{ functionResponse: { id: 'a', name: 'new', response: { output: '2' } } }]);
});

test('a result without a call is refused, and the failure names its place', () => {
  const failure = refused(requestOf({ turns: [user('go'), assistant(call('a', 'f')), result('a', ''), result('b', '')] }));
  assert.equal(failure.kind, 'bad_request');
  assert.equal(failure.message, 'messages[3].content[0].tool_call_id: answers no call of the assistant turn before it');
});

test('provider_options merge deeply over the payload, win, and remove with null', () => {
  const providerOptions = options(
    '{"generationConfig":{"temperature":1e-7,"seed":12345678901234567890,"topP":null},"safetySettings":[],"__proto__":{"x":1}}',
  );
  assert.equal(
    payloadText(requestOf({ temperature: 1, topP: 0.5, maxTokens: 3, providerOptions })),
    `{${HI},"generationConfig":{"maxOutputTokens":3,"temperature":1e-7,"seed":12345678901234567890},"safetySettings":[],"__proto__":{"x":1}}`,
  );
});

/** A valid conversation: of every kind of turn, with and without states. */
function conversation(seed: number): Turn[] {
  const random = randomFrom(seed);
  const signed = (): string | undefined => {
    if (random(3) > 0) return undefined;
    return encodeState('gemini', random(2) === 0 ? 'gemini' : 'other', { signature: `sig-${random(9)}` });
  };
  const turns: Turn[] = [];
  for (let round = 0; round < 2 + random(5); round += 1) {
    for (let i = 0; i <= random(2); i += 1) turns.push(user(`u${random(99)}`));
    for (let step = 0; step < random(3); step += 1) {
      const ids = Array.from({ length: 1 + random(3) }, (_, i) => (random(2) === 0 ? makeCallId() : `c${step}-${i}`));
      turns.push(assistant(...(random(2) === 0 ? [text('t', signed())] : []), ...ids.map((id) => call(id, 'f', '{"a":1.0}', signed()))));
      for (const id of ids.reverse()) turns.push(result(id, `r${random(99)}`));
    }
    if (random(4) > 0) turns.push(assistant(...(random(3) > 0 ? [text(`a${random(99)}`, signed())] : [])));
  }
  return turns;
}

/** True when the turns may be sent: every call is answered. */
function isWhole(turns: readonly Turn[], length: number): boolean {
  const last = turns[length - 1];
  if (last?.role === 'assistant') return last.parts.every((part) => part.type !== 'tool_call');
  return last?.role === 'user' || turns[length]?.role !== 'tool';
}

for (const model of ['gemini-4-argon', 'gemini-2.5-flash', 'gemma-4-31b-it']) {
  test(`the contents of a longer conversation begin with those of the shorter one, on ${model}`, () => {
    let compared = 0;
    for (let seed = 0; seed < 300; seed += 1) {
      const turns = conversation(seed);
      const parts = (length: number): string[] => {
        const { contents } = payload(requestOf({ model, system: 'S', turns: turns.slice(0, length) }));
        for (const content of contents) assert.notEqual(content.parts.length, 0);
        contents.reduce((before, content) => (assert.notEqual(before.role, content.role), content));
        return contents.flatMap((content) => content.parts.map((part) => `${content.role} ${JSON.stringify(part)}`));
      };
      const whole = parts(turns.length);
      for (let length = 1; length < turns.length; length += 1) {
        if (!isWhole(turns, length)) continue;
        compared += 1;
        const shorter = parts(length);
        assert.deepEqual(whole.slice(0, shorter.length), shorter);
      }
    }
    assert.ok(compared > 1000, `${compared} compared`);
  });
}

test('the same request is the same bytes', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const request = requestOf({ turns: conversation(seed), tools: [weather], providerOptions: options('{"labels":{"2":1,"1":2}}') });
    assert.equal(payloadText(request), payloadText(request));
  }
});
