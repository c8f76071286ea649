/** Answers of the fake provider beside the vendors' recorded ones: which fields they have, and what is in them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { corpusAbsent, readRecording, recordings } from '../corpus.ts';
import type { Recording } from '../corpus.ts';
import { HEADERS, chatUrl, events, open, parsed, request } from './client.ts';
import type { ProtocolName } from './client.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What was seen of the objects in one place. */
type Seen = { count: number; readonly fields: Map<string, { count: number; readonly kinds: Set<string>; readonly words: Set<string> }> };

/** Fields whose words are few. */
const WORDS = ['object', 'role', 'status'];

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (value === '' || value === 0) return 'nothing';
  return value === null ? 'null' : typeof value;
}

/** Calls with every object, and its place: the names that lead there, and the types on the way. */
function visit(value: unknown, path: string, take: (place: string, object: Fields) => void): void {
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) visit(item, `${path}[]`, take);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const object = value as Fields;
  const place = typeof object['type'] === 'string' ? `${path}:${object['type']}` : path;
  take(place, object);
  for (const [name, inner] of Object.entries(object)) visit(inner, `${place}/${name}`, take);
}

function recorded(dialect: Recording['dialect'], provider: string, kind: 'complete' | 'stream'): ReadonlyMap<string, Seen> {
  const places = new Map<string, Seen>();
  for (const recording of recordings(dialect, kind).filter((row) => row.provider === provider && row.status === 200)) {
    for (const answer of answersIn(recording)) {
      visit(answer, '', (place, object) => {
        const seen = places.get(place) ?? { count: 0, fields: new Map() };
        places.set(place, seen);
        seen.count += 1;
        for (const [name, value] of Object.entries(object)) {
          const field = seen.fields.get(name) ?? { count: 0, kinds: new Set(), words: new Set() };
          seen.fields.set(name, field);
          field.count += 1;
          field.kinds.add(kindOf(value));
          if (WORDS.includes(name)) field.words.add(String(value));
        }
      });
    }
  }
  return places;
}

function answersIn(recording: Recording): readonly unknown[] {
  const text = readRecording(recording).toString();
  if (recording.kind === 'complete') return [JSON.parse(text)];
  if (recording.file.endsWith('.jsonl')) return text.trim().split('\n').map((line) => JSON.parse(line) as unknown);
  return recording.file.endsWith('.sse') ? events(text) : (JSON.parse(text) as readonly unknown[]);
}

/** What an object lacks of the fields that all recorded ones in its place have, and has that none of them does. */
function differences(places: ReadonlyMap<string, Seen>, place: string, object: Fields): string[] {
  const seen = places.get(place);
  if (seen === undefined || seen.count < 2) return [];
  const found: string[] = [];
  for (const [name, { count, kinds, words }] of seen.fields) {
    const value = object[name];
    if (value === undefined) {
      if (count === seen.count) found.push(`${place}/${name}: missing`);
    } else if (!kinds.has(kindOf(value)) || (WORDS.includes(name) && !words.has(String(value)))) found.push(`${place}/${name}: ${JSON.stringify(value)}`);
  }
  for (const name of Object.keys(object)) if (!seen.fields.has(name)) found.push(`${place}/${name}: unknown`);
  return found;
}

const TOOL = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const MODELS = ['fake-chat', 'fake-tool-loop', 'fake-thinking', 'fake-refusal-partial'];

/** A response repeats of its request only what is short. */
const UNREPEATED = ['background', 'max_tool_calls', 'prompt_cache_key', 'reasoning', 'safety_identifier', 'service_tier', 'text', 'top_logprobs', 'user'];

type Row = {
  readonly dialect: Recording['dialect'];
  readonly protocol: ProtocolName;
  readonly bodyOf: (model: string, stream: boolean) => object;
  /** In what the fake provider differs: fields that came later, or that say nothing here. */
  readonly known: readonly RegExp[];
};

const ROWS: readonly Row[] = [
  {
    dialect: 'openai-responses',
    protocol: 'openai',
    bodyOf: (model, stream) => ({ model, stream, input: 'Go', store: false, include: ['reasoning.encrypted_content'], tools: [{ type: 'function', ...TOOL }] }),
    known: [
      new RegExp(`^(?::response\\.(?:created|in_progress|completed)/response)?/(?:${UNREPEATED.join('|')}): missing$`),
      /:message\/phase: unknown$/, /\/cache_write_tokens: unknown$/, /\.delta\/obfuscation: missing$/, /^:response\.function_call_arguments\.done\/name: unknown$/,
    ],
  },
  {
    dialect: 'openai-chat',
    protocol: 'openai',
    bodyOf: (model, stream) => ({ model, stream, messages: [{ role: 'user', content: 'Go' }], tools: [{ type: 'function', function: TOOL }], ...(stream && { stream_options: { include_usage: true } }) }),
    known: [/^\/service_tier: missing$/, /\/cache_write_tokens: (?:unknown|0)$/, /\/index: 1$/, /_details\/(?:audio|accepted_prediction|rejected_prediction)_tokens: missing$/, /^\/choices\[\]\/message\/refusal: "/],
  },
  {
    dialect: 'anthropic-messages',
    protocol: 'anthropic',
    bodyOf: (model, stream) => ({ model, stream, max_tokens: 1000, messages: [{ role: 'user', content: 'Go' }], tools: [{ name: TOOL.name, input_schema: TOOL.parameters }] }),
    known: [/\/stop_details: \{/, /\/output_tokens_details: unknown$/, /\/input\/city: /],
  },
  {
    dialect: 'gemini',
    protocol: 'gemini',
    bodyOf: () => ({ contents: [{ parts: [{ text: 'Go' }] }], tools: [{ functionDeclarations: [{ name: TOOL.name, parametersJsonSchema: TOOL.parameters }] }] }),
    known: [/^\/usageMetadata\/promptTokensDetails: missing$/, /^\/candidates\[\]\/content: missing$/, /\/args\/city: unknown$/],
  },
];

for (const { dialect, protocol, bodyOf, known } of ROWS) {
  for (const kind of ['complete', 'stream'] as const) {
    test(`an answer of ${dialect}, ${kind}, has the fields of recorded ones`, { skip: corpusAbsent }, async (t) => {
      const sandbox = await open(t);
      const places = recorded(dialect, protocol, kind);
      const found = new Set<string>();
      let compared = 0;
      for (const model of MODELS) {
        const url = dialect === 'openai-responses' ? `${sandbox.baseUrls.openai}/responses` : chatUrl(sandbox, protocol, model, kind === 'stream');
        const answer = await request(url, bodyOf(model, kind === 'stream'), HEADERS[protocol]);
        assert.equal(answer.status, 200, answer.text);
        for (const value of kind === 'stream' ? events(answer.text) : [parsed(answer)]) {
          visit(value, '', (place, object) => {
            if (places.has(place)) compared += 1;
            for (const difference of differences(places, place, object)) found.add(difference);
          });
        }
      }
      assert.ok(compared > 25, `${compared} objects were compared`);
      assert.deepEqual([...found].filter((difference) => !known.some((pattern) => pattern.test(difference))), []);
    });
  }
}
