/**
 * What a caller can reach with a provider_state of its own making: a refusal that names the part, or a payload in which
 * nothing but the assistant's message has changed, and that only within the shapes that a provider's reply can have.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../../src/base/json/limits.ts';
import type { AssistantPart } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { sentText } from '../sent-text.ts';
import { createRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { DIALECTS, assistant, call, encode, replyOf, requestOf, result, text, thoughtfulBody, user } from './codecs.ts';
import type { Codec } from './codecs.ts';

/** Checks of one value: each throws where the value has another shape. */
type Check = (value: unknown) => void;

const string: Check = (value) => assert.equal(typeof value, 'string');
const object: Check = (value) => assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
const listOf = (check: Check): Check => (value) => {
  assert.ok(Array.isArray(value));
  value.forEach(check);
};
const is = (expected: unknown): Check => (value) => assert.deepEqual(value, expected);
const fields = (checks: Readonly<Record<string, Check>>): Check => (value) => {
  object(value);
  for (const [key, inner] of Object.entries(value as object)) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    assert.ok(check !== undefined, `a field ${key}`);
    check(inner);
  }
};
const byType = (checks: Readonly<Record<string, Check>>, others: Check): Check => (value) => {
  const { type } = value as { type: string };
  (Object.hasOwn(checks, type) ? (checks[type] as Check) : others)(value);
};

const CALL = { id: 'call_a', name: 'look', arguments: '{"a":1}' };
const serverBlock = (pattern: RegExp): Check => (value) => assert.match((value as { type: string }).type, pattern);

/** What an assistant's message may hold whose parts are the text `Words` and the call above. */
const ALLOWED: Readonly<Record<string, Check>> = {
  anthropic: listOf(byType({
    text: fields({ type: string, text: is('Words'), citations: listOf(object) }),
    tool_use: fields({ type: string, id: is(CALL.id), name: is(CALL.name), input: is({ a: 1 }), caller: object, toolset_name: string }),
    thinking: fields({ type: string, thinking: string, signature: string }),
    redacted_thinking: fields({ type: string, data: string }),
  }, serverBlock(/^(?!(text|image|document|search_result|tool_use|tool_result)$)[a-z][a-z0-9_]{0,63}$/))),
  gemini: listOf((value) => {
    const part = value as Record<string, unknown>;
    if (part['functionCall'] !== undefined) fields({ functionCall: is({ id: CALL.id, name: CALL.name, args: { a: 1 } }), thoughtSignature: string })(part);
    else if (part['text'] !== undefined && part['thought'] !== true) fields({ text: is('Words'), thoughtSignature: string })(part);
    else {
      const kind = object;
      fields({
        text: string, thought: is(part['thought'] === true), thoughtSignature: string, executableCode: kind, codeExecutionResult: kind, inlineData: kind,
        fileData: kind, toolCall: kind, toolResponse: kind, videoMetadata: kind, mediaResolution: kind, partMetadata: kind,
      })(part);
    }
  }),
  'openai-chat': fields({
    role: is('assistant'),
    content: is('Words'),
    reasoning_content: string,
    reasoning_details: listOf(object),
    tool_calls: listOf(fields({
      id: is(CALL.id),
      type: is('function'),
      function: is({ name: CALL.name, arguments: CALL.arguments }),
      extra_content: fields({ google: fields({ thought_signature: string }) }),
    })),
  }),
  'openai-responses': listOf(byType({
    undefined: fields({ role: is('assistant'), content: is('Words'), phase: string }),
    function_call: fields({ type: string, call_id: is(CALL.id), name: is(CALL.name), arguments: is(CALL.arguments), namespace: string, caller: object }),
    custom_tool_call: fields({ type: string, call_id: is(CALL.id), name: is(CALL.name), input: is(CALL.arguments), namespace: string, caller: object }),
    reasoning: fields({ type: string, summary: listOf(fields({ type: is('summary_text'), text: string })), encrypted_content: string }),
  }, serverBlock(/^(?!message$|item_reference$|function_call_output$|custom_tool_call_output$|mcp_approval)./))),
};

/** Everything that is sent, without the assistant's messages, and those. */
function takeApart(codec: Codec, state: string | undefined, where: 'text' | 'call'): { rest: unknown; said: unknown[] } | Failure {
  const parts = [text('Words', where === 'text' ? state : undefined), call(CALL.id, CALL.arguments, where === 'call' ? state : undefined)];
  const request = requestOf({ model: codec.model, system: 'Be brief.', turns: [user('Go'), assistant(...parts), result(CALL.id)] });
  const encoded = codec.adapter.encodeChat(request, false);
  if (encoded instanceof Failure) return encoded;
  const { messages, contents, input, ...rest } = JSON.parse(sentText(encoded)) as Record<string, { role?: string; type?: string }[]>;
  const said: unknown[] = [];
  const others: unknown[] = [];
  for (const item of messages ?? contents ?? input ?? []) {
    const isOurs = item.role === 'user' || item.role === 'system' || item.role === 'developer' || item.role === 'tool' || item.type === 'function_call_output';
    (isOurs ? others : said).push(item);
  }
  return { rest: { ...encoded, body: undefined, payload: rest, others }, said };
}

/** Throws unless the state is refused by its place, or harmless. True when it was let in. */
function checkHarmless(codec: Codec, state: string, where: 'text' | 'call'): boolean {
  const outcome = takeApart(codec, state, where);
  const plain = takeApart(codec, undefined, where);
  assert.ok(!(plain instanceof Failure));
  if (outcome instanceof Failure) {
    assert.equal(outcome.kind, 'bad_request');
    assert.equal(outcome.status, 400);
    assert.match(outcome.message, new RegExp(`^messages\\[1\\]\\.content\\[${where === 'text' ? 0 : 1}\\]\\.provider_state: `));
    return false;
  }
  assert.deepEqual(outcome.rest, plain.rest);
  const [first] = outcome.said as { content?: unknown; parts?: unknown }[];
  const check = ALLOWED[codec.adapter.dialect] as Check;
  if (codec.adapter.dialect === 'anthropic') check(first?.content);
  else if (codec.adapter.dialect === 'gemini') check(first?.parts);
  else if (codec.adapter.dialect === 'openai-chat') check(first);
  else check(outcome.said);
  assert.equal(outcome.said.length === 1 || codec.adapter.dialect === 'openai-responses', true);
  return true;
}

function statesOf({ adapter }: Codec): readonly string[] {
  return replyOf(adapter.decodeChat(thoughtfulBody(adapter.dialect))).parts.flatMap((part: AssistantPart) => part.state ?? []);
}

function stateAround(codec: Codec, content: string | Buffer): string {
  return `${codec.adapter.dialect}.${codec.provider}.${Buffer.from(content).toString('base64url')}`;
}

function contentOf(state: string): string {
  return Buffer.from(state.split('.')[2] ?? '', 'base64url').toString();
}

const KEYS = [
  'type', 'role', 'text', 'thinking', 'signature', 'data', 'before', 'own', 'content', 'cache_control', 'id', 'name', 'input', 'tool_use_id', 'model', 'system',
  'headers', '__proto__', 'constructor', 'functionCall', 'functionResponse', 'thoughtSignature', 'thought', 'fileData', 'parts', 'reasoning_content',
  'reasoning_details', 'thought_signature', 'tool_calls', 'encrypted_content', 'summary', 'phase', 'citations', 'caller', 'toolset_name', 'arguments',
];
const VALUES = [
  '"x"', '""', 'null', 'true', '0', '1e999', '{}', '[]', '"system"', '"user"', '"text"', '"thinking"', '"redacted_thinking"', '"tool_use"', '"tool_result"',
  '"image"', '"document"', '"server_tool_use"', '"web_search_tool_result"', '"reasoning"', '"message"', '"function_call"', '"function_call_output"',
  '"mcp_call"', '{"type":"text","text":"x"}', '[{"type":"thinking","thinking":"x","signature":"y"}]', '{"functionCall":{"name":"rm","args":{}}}',
];

/** The text of a JSON with a few values replaced, keys renamed, or members added, anywhere. */
function editJson(random: Random, json: string): string {
  let edited = json;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const tokens = [...edited.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)];
    if (tokens.length === 0) return edited;
    const token = random.pick(tokens);
    const at = token.index;
    const after = at + token[0].length;
    const isKey = edited[after] === ':';
    const replacement = token[0] === '{' ? `{"${random.pick(KEYS)}":${random.pick(VALUES)}${edited[after] === '}' ? '' : ','}`
      : token[0] === '[' ? `[${random.pick(VALUES)}${edited[after] === ']' ? '' : ','}`
      : isKey ? `"${random.pick(KEYS)}"`
      : /^[\]}:,]$/.test(token[0]) ? token[0]
      : random.pick(VALUES);
    edited = edited.slice(0, at) + replacement + edited.slice(after);
  }
  return edited;
}

function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

const ROUNDS = 1500;

for (const codec of DIALECTS) {
  describe(`a forged state for ${codec.label}`, () => {
    const states = statesOf(codec);

    test('is harmless or refused, whatever is edited in it', () => {
      const random = createRandom(20_261_121);
      let admitted = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const state = stateAround(codec, editJson(random, contentOf(random.pick(states))));
        if (checkHarmless(codec, state, random.pick(['text', 'call']))) admitted += 1;
      }
      // Both outcomes are reached.
      assert.ok(admitted > 10 && admitted < ROUNDS - 10, `${admitted} admitted`);
    });

    test('is harmless or refused, whatever characters are changed, cut or added', () => {
      const random = createRandom(7);
      for (let round = 0; round < ROUNDS; round += 1) {
        const state = random.pick(states);
        const at = random.below(state.length);
        const edited = random.pick([
          state.slice(0, at) + random.pick([...'Aa0_-.=+/ \n\u00e9']) + state.slice(at + 1),
          state.slice(0, at),
          state.slice(0, at) + state,
        ]);
        if (edited !== '') checkHarmless(codec, edited, random.pick(['text', 'call']));
      }
    });

    test('is refused when it is random bytes, with a right head or without', () => {
      const random = createRandom(11);
      for (let round = 0; round < 300; round += 1) {
        const bytes = randomBytes(random, 1 + random.below(60));
        assert.equal(checkHarmless(codec, stateAround(codec, bytes), 'text'), false);
        assert.equal(checkHarmless(codec, bytes.toString('latin1'), 'text'), false);
      }
    });

    test('is left out when another provider or dialect made it', () => {
      for (const other of DIALECTS.filter(({ adapter }) => adapter.dialect !== codec.adapter.dialect)) {
        for (const state of statesOf(other)) {
          assert.deepEqual(takeApart(codec, state, 'call'), takeApart(codec, undefined, 'call'));
        }
      }
      for (const state of states) {
        const elsewhere = state.replace(`.${codec.provider}.`, `.${codec.provider}-eu.`);
        assert.deepEqual(takeApart(codec, elsewhere, 'text'), takeApart(codec, undefined, 'text'));
      }
    });

    test('is refused when it is deeper or holds more values than any JSON here may', () => {
      const deep = `${'['.repeat(JSON_DEPTH_MAX)}${']'.repeat(JSON_DEPTH_MAX)}`;
      const many = `[${'0,'.repeat(JSON_VALUES_MAX)}0]`;
      for (const value of [deep, many]) {
        for (const json of [`{"before":${value}}`, `{"reasoning_details":${value}}`, `{"own":{"citations":${value}}}`]) {
          assert.equal(checkHarmless(codec, stateAround(codec, json), 'text'), false);
        }
      }
    });

    test('is refused when all states of a request together hold too many values', () => {
      const values = `[${'0,'.repeat(JSON_VALUES_MAX / 10)}0]`;
      const block: Readonly<Record<string, string>> = {
        anthropic: `{"before":[{"type":"server_tool_use","input":${values}}]}`,
        gemini: `{"before":[{"toolCall":{"a":${values}}}]}`,
        'openai-chat': `{"reasoning_details":[{"a":${values}}]}`,
        'openai-responses': `{"before":[{"type":"mcp_call","a":${values}}]}`,
      };
      const state = stateAround(codec, block[codec.adapter.dialect] ?? '');
      assert.equal(checkHarmless(codec, state, 'text'), true);
      const turns = [user('Go'), assistant(...Array.from({ length: 11 }, () => text('x', state)))];
      const outcome = codec.adapter.encodeChat(requestOf({ model: codec.model, turns }), false);
      assert.ok(outcome instanceof Failure);
      assert.match(outcome.message, /^messages\[1\]\.content\[\d+\]\.provider_state: /);
    });
  });
}

test('a megabyte of reasoning in a state goes through', () => {
  const [codec] = DIALECTS as [Codec];
  const state = stateAround(codec, `{"before":[{"type":"thinking","thinking":"${'x, '.repeat(400_000)}","signature":"s"}]}`);
  const turns = [user('Go'), assistant(text('Words', state)), user('On')];
  assert.ok(sentText(encode(codec.adapter, requestOf({ model: codec.model, turns }))).length > 1_200_000);
});
