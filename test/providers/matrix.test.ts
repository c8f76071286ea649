/**
 * Holds every codec to its support table: each part of a request is driven through the codec, and what the table says
 * of it is looked for in the payload, or in the refusal.
 *
 * A cell's words up to the first semicolon are about the newest models, and every JSON name there (`a.b`, or `a.b: v`
 * with its value) has to be in the payload. What follows the semicolon are notes on others, which tests of their own hold.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonObject, RawJson } from '../../src/base/json/value.ts';
import { REQUEST_FEATURES } from '../../src/core/adapter.ts';
import type { Adapter, RequestFeature, Support } from '../../src/core/adapter.ts';
import type { AssistantPart, ChatRequest, ContentPart, DocumentPart, Effort, ToolChoice, Turn } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { isForResponses } from '../../src/providers/openai/api-choice.ts';
import { sentText } from '../sent-text.ts';
import { CODECS, assistant, call, codecOf, replyOf, requestOf, result, text, thoughtfulBody, user } from '../loops/codecs.ts';

/** A request with the feature, one without, and what has to come out unchanged where the table says `sent`. */
type Probe = { readonly having: Partial<ChatRequest>; readonly lacking: Partial<ChatRequest>; readonly value?: string | number };

const SCHEMA = '{"type":"object","properties":{"2":{"$ref":"#/$defs/x"},"1":{}},"$defs":{"x":{"const":1.0}}}';
const TOOLS = [{ name: 'look-here', description: 'Looks.', parameters: new RawJson(SCHEMA), strict: undefined }, { name: 'other', description: undefined, parameters: undefined, strict: undefined }];
const PDF: DocumentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'a.pdf' };
const said = (part: ContentPart): Partial<ChatRequest> => ({ turns: [{ role: 'user', parts: [{ type: 'text', text: 'Go', state: undefined }, part] }] });
const shown = (part: ContentPart): Partial<ChatRequest> => ({
  turns: [user('Go'), assistant(call('call_a')), { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'call_a', content: [{ type: 'text', text: '21 degrees', state: undefined }, part], isError: false }] }],
});
const image = (source: Extract<Turn, { role: 'user' }>['parts'][number] & { type: 'image' }): Turn => ({ role: 'user', parts: [{ type: 'text', text: 'Go', state: undefined }, source] });
const past = (...turns: Turn[]): Turn[] => [user('Go'), ...turns, user('On')];
const looped = (content: string, isError = false): Turn[] => [user('Go'), assistant(call('call_a')), result('call_a', content, isError)];
const choosing = (toolChoice: ToolChoice): Probe => ({ having: { tools: TOOLS, toolChoice }, lacking: { tools: TOOLS } });
const thinking = (effort: Effort): Probe => ({
  having: { thinking: { enabled: true, effort } }, lacking: {}, value: effort,
});

const PROBES: Readonly<Record<Exclude<RequestFeature, 'assistant provider_state'>, Probe>> = {
  model: { having: {}, lacking: { model: 'another-one' } },
  system: { having: { system: 'Be brief.' }, lacking: {}, value: 'Be brief.' },
  'user text': { having: { turns: [user('A question?')] }, lacking: {}, value: 'A question?' },
  'user image (inline)': {
    having: { turns: [image({ type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'iVBORw==' } })] },
    lacking: {},
    value: 'iVBORw==',
  },
  'user image (url)': {
    having: { turns: [image({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } })] },
    lacking: {},
    value: 'https://example.com/a.png',
  },
  'user document (pdf inline)': { having: said(PDF), lacking: {}, value: 'JVBERi0=' },
  'user document (pdf url)': { having: said({ ...PDF, source: { type: 'url', url: 'https://example.com/a.pdf' } }), lacking: {}, value: 'https://example.com/a.pdf' },
  'user document (text)': { having: said({ type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: btoa('Some words.') }, name: 'a.txt' }), lacking: {}, value: 'Some words.' },
  'assistant text': { having: { turns: past(assistant(text('An answer.'))) }, lacking: { turns: past() }, value: 'An answer.' },
  'assistant tool_call': {
    having: { turns: past(assistant(call('call_a', '{"2":1.0,"1":1e-7}')), result('call_a')) },
    lacking: { turns: past() },
    value: '{"2":1.0,"1":1e-7}',
  },
  tool_result: { having: { turns: looped('21 degrees') }, lacking: {}, value: '21 degrees' },
  'tool_result.is_error': { having: { turns: looped('too cold', true) }, lacking: { turns: looped('too cold') }, value: 'too cold' },
  'tool_result image': {
    having: shown({ type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'iVBORw==' } }),
    lacking: { turns: looped('21 degrees') },
    value: 'iVBORw==',
  },
  'tool_result document': { having: shown(PDF), lacking: { turns: looped('21 degrees') }, value: 'JVBERi0=' },
  max_tokens: { having: { maxTokens: 1234 }, lacking: {}, value: 1234 },
  temperature: { having: { temperature: 0.125 }, lacking: {}, value: 0.125 },
  top_p: { having: { topP: 0.375 }, lacking: {}, value: 0.375 },
  stop: { having: { stop: ['THE END'] }, lacking: {}, value: 'THE END' },
  tools: { having: { tools: TOOLS }, lacking: {}, value: SCHEMA },
  'tools without parameters': { having: { tools: TOOLS.slice(1) }, lacking: {}, value: '{"type":"object","properties":{}}' },
  'tools strict': { having: { tools: TOOLS.map((tool) => ({ ...tool, strict: true })) }, lacking: { tools: TOOLS } },
  'tool_choice auto': choosing({ mode: 'auto', parallel: undefined }),
  'tool_choice none': choosing({ mode: 'none', parallel: undefined }),
  'tool_choice required': choosing({ mode: 'required', parallel: undefined }),
  'tool_choice tool': { ...choosing({ mode: 'tool', name: 'look-here', parallel: undefined }), value: 'look-here' },
  'tool_choice.parallel false': {
    having: { tools: TOOLS, toolChoice: { mode: 'auto', parallel: false } },
    lacking: { tools: TOOLS, toolChoice: { mode: 'auto', parallel: undefined } },
  },
  'thinking on': { having: { thinking: { enabled: true, effort: undefined } }, lacking: {} },
  'thinking off': { having: { thinking: { enabled: false, effort: undefined } }, lacking: {} },
  'thinking.effort low': thinking('low'),
  'thinking.effort medium': thinking('medium'),
  'thinking.effort high': thinking('high'),
  'thinking.effort max': thinking('max'),
  output: { having: { output: { schema: undefined, name: 'output', strict: true } }, lacking: {} },
  'output.schema': { having: { output: { schema: new RawJson(SCHEMA), name: 'an-answer', strict: true } }, lacking: {}, value: SCHEMA },
  'output.strict false': { having: { output: { schema: new RawJson(SCHEMA), name: 'an-answer', strict: false } }, lacking: {}, value: SCHEMA },
  cache: { having: { cache: { key: 'a-digest', ttl: undefined } }, lacking: {} },
  'cache.ttl long': { having: { cache: { key: 'a-digest', ttl: 'long' } }, lacking: { cache: { key: 'a-digest', ttl: undefined } } },
  user: { having: { user: 'another-digest' }, lacking: {}, value: 'another-digest' },
  provider_options: {
    having: { providerOptions: parseJson('{"further_field":{"a":12345678901234567890}}') as JsonObject },
    lacking: {},
    value: '{"a":12345678901234567890}',
  },
};

/** The turn of a reply with everything a provider wants back, and the same without its states. */
function stateProbe(adapter: Adapter, dialect: string): Probe {
  const { parts } = replyOf(adapter.decodeChat(thoughtfulBody(dialect)));
  const turns = (kept: readonly AssistantPart[]): Turn[] => [
    user('Go'),
    assistant(...kept),
    ...kept.flatMap((part) => (part.type === 'tool_call' ? [result(part.id)] : [])),
  ];
  return { having: { turns: turns(parts) }, lacking: { turns: turns(parts.map((part) => ({ ...part, state: undefined }))) } };
}

/** What the table says of one feature, and of the API that serves it where there are two. */
function cellOf(support: Support, isByResponses: boolean): string {
  const [first = '', second] = support.as.split('; by Responses: ');
  return (isByResponses ? (second ?? first) : first).split(';')[0] ?? '';
}

/** Where a refusal says the part is; elsewhere in the field of that name. */
const PLACES: readonly (readonly [words: string, place: RegExp])[] = [
  ['user image', /^messages\[0\]\.content\[1\]\.url: /],
  ['user document', /^messages\[0\]\.content\[1\]\S*: /],
  ['tool_result ', /^messages\[2\]\.content\[0\]\.content\S*: /],
];

/** Throws when what the codec does with a feature is not what its table says. */
function checkCell(adapter: Adapter, dialect: string, model: string, feature: RequestFeature): void {
  const support = adapter.support[feature];
  const { having, lacking, value } = feature === 'assistant provider_state' ? stateProbe(adapter, dialect) : PROBES[feature];
  const request = requestOf({ model, ...having });
  const sent = adapter.encodeChat(request, false);
  if (support.is === 'refused') {
    assert.ok(sent instanceof Failure, 'declared as refused, but sent');
    assert.equal(sent.kind, 'unsupported');
    assert.match(sent.message, PLACES.find(([words]) => feature.startsWith(words))?.[1] ?? new RegExp(`^${feature.split(/[ .]/)[0]}\\S*: `));
    return;
  }
  const plain = adapter.encodeChat(requestOf({ model, ...lacking }), false);
  assert.ok(!(sent instanceof Failure) && !(plain instanceof Failure), 'declared as accepted, but refused');
  const cell = cellOf(support, sent.path === '/responses');
  if (support.is === 'ignored' || cell === 'nothing has to travel') {
    assert.deepEqual(sent, plain);
    return;
  }
  const headers = Object.keys(sent.headers);
  assert.notDeepEqual(sent, plain, 'declared as accepted, but dropped');
  const text = sentText(sent);
  const json: unknown = JSON.parse(text);
  for (const [, claim = ''] of cell.matchAll(/`([^`]+)`/g)) {
    assert.ok(holds(json, claim) || sent.path.includes(claim) || headers.includes(claim), `\`${claim}\` is not in ${sent.body}`);
  }
  // Gemini spells its levels in capitals.
  const isLevel = feature.startsWith('thinking.effort') && text.includes(`"${String(value).toUpperCase()}"`);
  // Text may travel as a file does.
  const isFile = text.includes(btoa(String(value)));
  const isThere = isFile || value === undefined || isLevel || text.includes(String(value)) || text.includes(JSON.stringify(String(value)));
  if (support.is === 'sent') assert.ok(isThere, `${value} is not in ${sent.body}`);
  else if (feature.startsWith('thinking.effort') && !support.as.includes('; by Responses: ')) assert.ok(!holds(json, String(value)), `declared as translated, but ${value} is in ${sent.body}`);
}

/** True when a value has the path of keys somewhere, with the value where one is named, or a text that contains the claim. */
function holds(json: unknown, claim: string): boolean {
  const [, path = claim, expected] = /^([\w.]+): (\S+)$/.exec(claim) ?? [];
  if (at(json, path.split('.'), expected)) return true;
  if (typeof json === 'string') return expected === undefined && json.includes(claim);
  return typeof json === 'object' && json !== null && Object.values(json).some((inner) => holds(inner, claim));
}

function at(json: unknown, keys: readonly string[], expected: string | undefined): boolean {
  let value = json;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return expected === undefined || String(value) === expected;
}

for (const { label, adapter, model } of CODECS) {
  describe(`${label} does what its table says`, () => {
    // Where two APIs serve one provider, each is asked for what it serves.
    const models = label === 'openai (auto)' ? [model, 'some-model'] : [model];
    for (const feature of REQUEST_FEATURES) {
      for (const served of models) {
        const probe = feature === 'assistant provider_state' ? {} : PROBES[feature].having;
        const isByResponses = adapter.dialect === 'openai-responses' && (label !== 'openai (auto)' || isForResponses(requestOf({ model: served, ...probe })));
        const dialect = adapter.dialect !== 'openai-responses' || isByResponses ? adapter.dialect : 'openai-chat';
        test(`of ${feature}${models.length > 1 ? `, for ${served}` : ''}`, () => checkCell(adapter, dialect, served, feature));
      }
    }
  });
}

describe('a table that is not true is found out', () => {
  const { adapter, model } = codecOf('groq');
  const check = (changed: Partial<Adapter>, feature: RequestFeature): void => checkCell({ ...adapter, ...changed }, 'openai-chat', model, feature);
  const saying = (feature: RequestFeature, support: Support): Partial<Adapter> => ({ support: { ...adapter.support, [feature]: support } });

  test('when it says that a field is sent, which is dropped', () => {
    const encodeChat: Adapter['encodeChat'] = (request, isStream) => adapter.encodeChat({ ...request, temperature: undefined }, isStream);
    assert.throws(() => check({ encodeChat }, 'temperature'), /dropped/);
  });

  test('when it says that a field is sent, which is altered', () => {
    const encodeChat: Adapter['encodeChat'] = (request, isStream) => adapter.encodeChat({ ...request, maxTokens: request.maxTokens && 1000 }, isStream);
    assert.throws(() => check({ encodeChat }, 'max_tokens'), /1234 is not in/);
  });

  test('when it names a field that is not there', () => {
    assert.throws(() => check(saying('stop', { is: 'sent', as: '`stop_sequences`' }), 'stop'), /`stop_sequences` is not in/);
  });

  test('when it names a value that is not there', () => {
    assert.throws(() => check(saying('thinking on', { is: 'sent', as: '`reasoning_effort: high`' }), 'thinking on'), /`reasoning_effort: high` is not in/);
  });

  test('when it says that a field is refused, which is sent', () => {
    assert.throws(() => check(saying('stop', { is: 'refused', as: 'no' }), 'stop'), /but sent/);
  });

  test('when it says that a hint is ignored, which is sent', () => {
    assert.throws(() => check(saying('stop', { is: 'ignored', as: 'no' }), 'stop'));
  });

  test('when it says that a level is translated, which is sent', () => {
    assert.throws(() => check(saying('thinking.effort low', { is: 'translated', as: 'somehow' }), 'thinking.effort low'), /but low is in/);
  });

  test('when it says that a field is sent, which is refused', () => {
    const gemini = codecOf('gemini');
    const support = { ...gemini.adapter.support, 'user image (url)': { is: 'sent', as: '`fileData`' } as const };
    assert.throws(() => checkCell({ ...gemini.adapter, support }, 'gemini', gemini.model, 'user image (url)'), /but refused/);
  });
});
