/** Recorded requests of programs that speak other formats: translated to every codec, nothing of them is lost on the way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIALECTS as CALLER_DIALECTS } from '../../src/callers/index.ts';
import type { ChatRequest, ContentPart } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { sentText } from '../sent-text.ts';
import { decodedBy } from '../callers/dialect-testing.ts';
import { corpusAbsent, readRequest, recordings } from '../corpus.ts';
import type { Recording } from '../corpus.ts';
import { DIALECTS } from './codecs.ts';

const SPOKEN: readonly (readonly [dialect: string, recorded: Recording['dialect']])[] = [
  ['anthropic', 'anthropic-messages'],
  ['openai-chat', 'openai-chat'],
  ['openai-responses', 'openai-responses'],
];

/** The recorded requests that the dialect takes, as chats. */
function chatsOf(name: string, recorded: Recording['dialect']): readonly ChatRequest[] {
  const dialect = CALLER_DIALECTS.find((candidate) => candidate.name === name);
  assert.ok(dialect !== undefined);
  return (['complete', 'stream'] as const).flatMap((kind) => recordings(recorded, kind)).flatMap((recording) => {
    const body = readRequest(recording);
    const decoded = body === undefined ? undefined : decodedBy(dialect, body);
    if (decoded === undefined || decoded instanceof Failure) return [];
    const translation = decoded.translate(decoded.model);
    return translation instanceof Failure ? [] : [translation.request];
  });
}

function contentsOf({ turns }: ChatRequest): readonly ContentPart[] {
  return turns.flatMap((turn): readonly ContentPart[] => {
    if (turn.role === 'user') return turn.parts;
    if (turn.role === 'tool') return turn.parts.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
    return [];
  });
}

/** Whether a payload holds the part: its address, its data or its words. */
function holds(payload: string, part: ContentPart): boolean {
  const holdsWords = (words: string): boolean => payload.includes(JSON.stringify(words).slice(1, -1));
  if (part.type === 'text') return holdsWords(part.text);
  const { source } = part;
  if (source.type === 'url') return payload.includes(source.url);
  if (payload.includes(source.base64)) return true;
  return part.type === 'document' && part.mediaType === 'text/plain' && holdsWords(Buffer.from(source.base64, 'base64').toString());
}

for (const [name, recorded] of SPOKEN) {
  test(`requests recorded of ${name} bring their schemas, files and words to every provider, or are refused`, { skip: corpusAbsent }, () => {
    const seen = { requests: 0, schemas: 0, files: 0, refusals: 0 };
    for (const request of chatsOf(name, recorded)) {
      for (const { label, adapter, model } of DIALECTS) {
        const call = adapter.encodeChat({ ...request, model }, false);
        if (call instanceof Failure) {
          assert.equal(call.kind, 'unsupported', `${label}: ${call.message}`);
          seen.refusals += 1;
          continue;
        }
        const payload = sentText(call);
        seen.requests += 1;
        for (const part of contentsOf(request)) {
          assert.ok(holds(payload, part), `${label} lost ${part.type}`);
          if (part.type !== 'text') seen.files += 1;
        }
        const schema = request.output?.schema;
        if (schema === undefined) continue;
        assert.ok(payload.includes(schema.text), `${label} lost the schema`);
        seen.schemas += 1;
      }
    }
    assert.ok(seen.requests > 50 && seen.schemas > 0 && seen.files > 0, JSON.stringify(seen));
  });
}
