/** Replies that were parsed before a codec sees them, as large ones are. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLenient } from '../../src/base/json/lenient.ts';
import { parseReplied } from '../../src/base/json/parse.ts';
import { isMadeCallId } from '../../src/core/call-id.ts';
import type { ChatReply } from '../../src/core/chat.ts';
import { CLOUD_CODECS, CODECS, replyOf, thoughtfulBody } from '../loops/codecs.ts';

function withoutMadeIds(reply: ChatReply): ChatReply {
  return { ...reply, parts: reply.parts.map((part) => (part.type === 'tool_call' && isMadeCallId(part.id) ? { ...part, id: 'made' } : part)) };
}

for (const { label, adapter } of [...CODECS, ...CLOUD_CODECS]) {
  test(`what is parsed already ${label} decodes to the same, and parses nothing again`, () => {
    const body = thoughtfulBody(adapter.dialect);
    const expected = replyOf(adapter.decodeChat(body));
    assert.deepEqual(withoutMadeIds(replyOf(adapter.decodeChat('', parseLenient(body), parseReplied(body)))), withoutMadeIds(expected));
  });
}
