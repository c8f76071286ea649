import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Turn } from '../../../src/core/chat.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { sentText } from '../../sent-text.ts';
import { adapter, assistant, body, call, payload, payloadText, refused, reply, requestOf, result, text, user } from './fixtures.ts';

const DUMMY = 'skip_thought_signature_validator';

/** The model content that is sent when the reply to these parts is appended, unchanged, to a conversation. */
function replayed(parts: readonly unknown[], model = 'gemini-4-argon'): unknown {
  const turn = assistant(...reply(body(parts)).parts);
  return payload(requestOf({ model, turns: [user('a'), turn, user('b')] })).contents.find((content) => content.role === 'model')?.parts;
}

const round: readonly (readonly [what: string, parts: readonly unknown[]])[] = [
  ['a call', [{ functionCall: { id: 'x', name: 'f', args: { a: 1 } }, thoughtSignature: 'sig' }]],
  ['the first of parallel calls', [{ functionCall: { id: 'x', name: 'f', args: {} }, thoughtSignature: 'sig' }, { functionCall: { id: 'y', name: 'f', args: {} } }]],
  ['the second of parallel calls', [{ functionCall: { id: 'x', name: 'f', args: {} } }, { functionCall: { id: 'y', name: 'f', args: {} }, thoughtSignature: 'sig' }]],
  ['a text', [{ text: 'words', thoughtSignature: 'sig' }]],
  ['an empty text after a text', [{ text: 'words' }, { text: '', thoughtSignature: 'sig' }]],
  ['an empty text alone', [{ text: '', thoughtSignature: 'sig' }]],
  ['a text before an unsigned one', [{ text: 'one', thoughtSignature: 'sig' }, { text: 'two' }]],
  ['a text after an unsigned one', [{ text: 'one' }, { text: 'two', thoughtSignature: 'sig' }]],
  ['two texts', [{ text: 'one', thoughtSignature: 'sig1' }, { text: 'two', thoughtSignature: 'sig2' }]],
  ['a text and a call', [{ text: 'one', thoughtSignature: 'sig1' }, { functionCall: { id: 'x', name: 'f', args: {} }, thoughtSignature: 'sig2' }]],
  ['an empty text before a call', [{ text: '', thoughtSignature: 'sig' }, { functionCall: { id: 'x', name: 'f', args: {} } }]],
  ['an empty text after a call', [{ functionCall: { id: 'x', name: 'f', args: {} } }, { text: '', thoughtSignature: 'sig' }]],
  ['a thought before a call', [{ text: 'hm', thought: true, thoughtSignature: 'sig' }, { functionCall: { id: 'x', name: 'f', args: {} } }]],
  ['an empty thought before a text', [{ text: '', thought: true, thoughtSignature: 'sig' }, { text: 'words' }]],
  ['a thought without text', [{ thought: true, thoughtSignature: 'sig' }, { text: 'words' }]],
  ['a thought at the end', [{ text: 'words' }, { text: 'hm', thought: true, thoughtSignature: 'sig' }]],
  ['executed code', [{ executableCode: { language: 'PYTHON', code: '1.0', id: 'c' }, thoughtSignature: 'sig' }, { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }, { text: 'words', thoughtSignature: 'sig2' }]],
  ['executed code between texts', [{ text: 'one' }, { executableCode: { code: 'x' } }, { text: 'two' }]],
  ['executed code at the end', [{ text: 'one' }, { executableCode: { code: 'x' } }, { codeExecutionResult: { output: 'y' } }]],
  ['executed code before a text, and a call before the next', [{ executableCode: { code: 'x' } }, { text: 'one' }, { functionCall: { id: 'x', name: 'f', args: {} }, thoughtSignature: 'sig' }, { text: 'two' }]],
  ['a generated image with metadata', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw==' }, mediaResolution: {}, thoughtSignature: 'sig' }, { text: 'words' }]],
  ['a generated image', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw==' }, thoughtSignature: 'sig' }]],
  ['server-side tools', [{ toolCall: { id: 't', toolType: 'FILE_SEARCH' }, thoughtSignature: 'sig' }, { toolResponse: { id: 't', response: { a: [1] } }, thoughtSignature: 'sig2' }, { functionCall: { id: 'x', name: 'f', args: {} }, thoughtSignature: 'sig3' }]],
];
for (const [what, parts] of round) {
  test(`replay sends back the exact parts in their order: ${what}`, () => {
    const turn = assistant(...reply(body(parts)).parts);
    const answers = turn.parts.flatMap((part) => (part.type === 'tool_call' ? [result(part.id, 'ok')] : []));
    const { contents } = payload(requestOf({ turns: [user('a'), turn, ...answers] }));
    assert.deepEqual(contents[1], { role: 'model', parts });
  });
}

test('replay keeps the numbers of carried parts and of arguments digit for digit', () => {
  const source = `{"candidates":[{"content":{"parts":[{"toolCall":{"n":1.0}},{"functionCall":{"id":"x","name":"f","args":{"n":12345678901234567890,"m":1e-7}}}]},"finishReason":"STOP"}]}`;
  const sent = payloadText(requestOf({ turns: [user('a'), assistant(...reply(source).parts), result('x', '')] }));
  assert.ok(sent.includes('{"toolCall":{"n":1.0}},{"functionCall":{"id":"x","name":"f","args":{"n":12345678901234567890,"m":1e-7}}}'), sent);
});

test('a part whose signature stands alone goes back as an empty text', () => {
  assert.deepEqual(replayed([{ text: 'a' }, { thoughtSignature: 'sig' }]), [{ text: 'a' }, { text: '', thoughtSignature: 'sig' }]);
});

test('unsigned thoughts and unknown kinds of part are not sent back', () => {
  const parts = [{ text: 'hm', thought: true }, { hologram: {} }, { inlineData: { data: '' }, thought: true }, { text: 'words' }];
  assert.deepEqual(replayed(parts), [{ text: 'words' }]);
});

test('a state is kept for models that do not demand it', () => {
  assert.deepEqual(replayed([{ text: 'words', thoughtSignature: 'sig' }], 'gemini-2.5-flash'), [{ text: 'words', thoughtSignature: 'sig' }]);
});

/** The signatures of the functionCall parts of each model content. */
function signatures(model: string, turns: readonly Turn[]): unknown[][] {
  const { contents } = payload(requestOf({ model, turns }));
  return contents.filter((content) => content.role === 'model').map((content) => content.parts.map((part) => part['thoughtSignature']));
}

const lost = [user('a'), assistant(call('1', 'f'), call('2', 'f')), result('1', ''), result('2', ''), assistant(call('3', 'f')), result('3', '')];

test('a turn whose calls have lost their signature gets the dummy on its first call', () => {
  assert.deepEqual(signatures('gemini-3-pro-preview', lost), [[DUMMY, undefined], [DUMMY]]);
});

test('the dummy stays on turns before a later user turn, so that their encoding does not change', () => {
  assert.deepEqual(signatures('gemini-4-neon', [...lost, assistant(text('x')), user('b')]), [[DUMMY, undefined], [DUMMY], [undefined]]);
});

for (const model of ['gemini-1.5-pro', 'gemini-2.0-flash', 'models/gemini-2.5-pro', 'gemma-4-31b-it']) {
  test(`${model}, which does not ask for signatures, gets no dummy`, () => {
    assert.deepEqual(signatures(model, lost), [[undefined, undefined], [undefined]]);
  });
}

test('a turn with a signature on any call gets no dummy', () => {
  const state = encodeState('gemini', 'gemini', { signature: 'sig' });
  assert.deepEqual(signatures('gemini-4-neon', [user('a'), assistant(call('1', 'f'), call('2', 'f', '{}', state)), result('1', ''), result('2', '')]), [[undefined, 'sig']]);
});

test('a signature on a text with words shows nothing of the calls beside it', () => {
  const state = encodeState('gemini', 'gemini', { signature: 'sig' });
  assert.deepEqual(signatures('gemini-4-neon', [user('a'), assistant(text('t', state), call('1', 'f')), result('1', '')]), [['sig', DUMMY]]);
  assert.deepEqual(signatures('gemini-4-neon', [user('a'), assistant(text('', state), call('1', 'f')), result('1', '')]), [['sig', undefined]]);
});

test('states of another provider or dialect are ignored, and the dummy stands in for them', () => {
  for (const state of [encodeState('gemini', 'gemini-eu', { signature: 'sig' }), encodeState('anthropic', 'gemini', { blocks: [] })]) {
    assert.deepEqual(signatures('gemini-4-neon', [user('a'), assistant(text('t', state), call('1', 'f', '{}', state)), result('1', '')]), [[undefined, DUMMY]]);
  }
});

const forged: readonly (readonly [what: string, state: string])[] = [
  ['that is no state', 'hello'],
  ['with damaged base64', `${encodeState('gemini', 'gemini', { signature: 's' })}=`],
  ['that is cut', encodeState('gemini', 'gemini', { signature: 'signature' }).slice(0, -3)],
  ['that holds nothing', encodeState('gemini', 'gemini', {})],
  ['with an unknown key', encodeState('gemini', 'gemini', { signature: 's', systemInstruction: {} })],
  ['with parts under an unknown key', encodeState('gemini', 'gemini', { after: [{ toolCall: {} }] })],
  ['with an empty signature', encodeState('gemini', 'gemini', { signature: '' })],
  ['with a signature that is no string', encodeState('gemini', 'gemini', { signature: 1 })],
  ['with parts that are no list', encodeState('gemini', 'gemini', { before: {} })],
  ['with an empty list of parts', encodeState('gemini', 'gemini', { before: [] })],
  ['with a part that is no object', encodeState('gemini', 'gemini', { before: ['x'] })],
  ['with an empty part', encodeState('gemini', 'gemini', { before: [{}] })],
  ['with a plain text', encodeState('gemini', 'gemini', { before: [{ text: 'x', thoughtSignature: 's' }] })],
  ['with a function call', encodeState('gemini', 'gemini', { before: [{ functionCall: { name: 'f' } }] })],
  ['with a function response', encodeState('gemini', 'gemini', { before: [{ functionResponse: { name: 'f' } }] })],
  ['with an unknown kind of part', encodeState('gemini', 'gemini', { before: [{ hologram: {} }] })],
  ['with a part of two kinds', encodeState('gemini', 'gemini', { before: [{ toolCall: {}, toolResponse: {} }] })],
  ['with a thought of two kinds', encodeState('gemini', 'gemini', { before: [{ thought: true, text: 'x', inlineData: {} }] })],
  ['with a thought whose text is none', encodeState('gemini', 'gemini', { before: [{ thought: true, text: 1 }] })],
  ['with metadata that is no object', encodeState('gemini', 'gemini', { before: [{ inlineData: {}, videoMetadata: 1 }] })],
  ['with a kind that is no object', encodeState('gemini', 'gemini', { before: [{ toolCall: 'x' }] })],
  ['with a thought that is no boolean', encodeState('gemini', 'gemini', { before: [{ toolCall: {}, thought: 'yes' }] })],
  ['with a part signature that is no string', encodeState('gemini', 'gemini', { before: [{ toolCall: {}, thoughtSignature: 1 }] })],
  ['with a key twice', `gemini.gemini.${Buffer.from('{"before":[{"toolCall":{},"toolCall":{}}]}').toString('base64url')}`],
];
for (const [what, state] of forged) {
  test(`a state ${what} is refused, on a text and on a call`, () => {
    const onText = refused(requestOf({ turns: [user('a'), assistant(text('x'), text('y', state))] }));
    assert.equal(onText.kind, 'bad_request');
    assert.equal(onText.message, 'messages[1].content[1].provider_state: damaged, or not made by this gateway');
    const onCall = refused(requestOf({ turns: [assistant(call('1', 'f', '{}', state))] }));
    assert.equal(onCall.message, 'messages[0].content[0].provider_state: damaged, or not made by this gateway');
  });
}

test('a state never lets more than carried parts into the payload, however it is edited', () => {
  const state = encodeState('gemini', 'gemini', { signature: 'sig', before: [{ executableCode: { code: 'x' } }] });
  const json = Buffer.from(state.split('.')[2] as string, 'base64url').toString();
  for (let at = 0; at < json.length; at += 1) {
    for (const char of ['"', '}', '{', 'x', '1', ',', '\\']) {
      const edited = json.slice(0, at) + char + json.slice(at + 1);
      const encoded = adapter.encodeChat(
        requestOf({ turns: [user('a'), assistant(text('t', `gemini.gemini.${Buffer.from(edited).toString('base64url')}`))] }),
        false,
      );
      if (!('body' in encoded)) continue;
      const { contents, ...beside } = JSON.parse(sentText(encoded)) as { contents: { parts: object[] }[] };
      assert.deepEqual(beside, {});
      for (const part of contents[1]?.parts ?? []) {
        assert.deepEqual(Object.keys(part).filter((key) => !['text', 'thoughtSignature', 'executableCode'].includes(key)), []);
      }
    }
  }
});
