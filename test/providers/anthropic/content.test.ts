/** Documents, and tool results of several parts, as blocks of the Messages API. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContentPart, DocumentPart, ImagePart, Turn } from '../../../src/core/chat.ts';
import { adapter, assistant, call, failureOf, payload, request, user } from './fixtures.ts';

const PDF: DocumentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: undefined };
const BY_URL: DocumentPart = { ...PDF, source: { type: 'url', url: 'https://x.example/a.pdf' } };
const WORDS: DocumentPart = { ...PDF, mediaType: 'text/plain', source: { type: 'inline', base64: Buffer.from('\ufeffWörter "\n').toString('base64') } };
const WORDS_BY_URL: DocumentPart = { ...WORDS, source: { type: 'url', url: 'https://x.example/a.txt' } };
const IMAGE: ImagePart = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'AAAA' } };
const IMAGE_BY_URL: ImagePart = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } };
const TEXT: ContentPart = { type: 'text', text: 'Read', state: undefined };

const said = (...parts: ContentPart[]): Turn => ({ role: 'user', parts });
const shown = (isError: boolean, ...content: ContentPart[]): Turn[] => [
  user('Go'),
  assistant(call('c1')),
  { role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c1', content, isError }] },
];

describe('a document of the user', () => {
  for (const [what, part, sent] of [
    ['a PDF', PDF, { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
    ['a PDF by URL', BY_URL, { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } }],
    ['a text', WORDS, { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '\ufeffWörter "\n' } }],
    ['a name', { ...PDF, name: 'a.pdf' }, { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' }],
  ] as const) {
    test(`${what} is sent as it is`, () => {
      assert.deepEqual(payload({ turns: [said(TEXT, part)] }).messages[0]?.content, [{ type: 'text', text: 'Read' }, sent]);
    });
  }

  test('a text by URL is refused by its path, since what a URL leads to is read as a PDF', () => {
    const failure = failureOf(adapter.encodeChat(request({ turns: [user('Hi'), said(TEXT, WORDS_BY_URL)] }), false));
    assert.deepEqual([failure.kind, failure.message], ['unsupported', 'messages[1].content[1].url: Anthropic fetches no text/plain documents; send base64']);
  });
});

describe("a tool's result of several parts", () => {
  test('is sent in order, every part in its own form', () => {
    assert.deepEqual(payload({ turns: shown(false, TEXT, IMAGE, IMAGE_BY_URL, PDF, BY_URL, WORDS) }).messages[2]?.content, [
      {
        type: 'tool_result',
        tool_use_id: 'c1',
        content: [
          { type: 'text', text: 'Read' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '\ufeffWörter "\n' } },
        ],
      },
    ]);
  });

  test('keeps the flag of an error where all is text', () => {
    assert.deepEqual(payload({ turns: shown(true, TEXT, TEXT) }).messages[2]?.content, [
      { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'Read' }, { type: 'text', text: 'Read' }], is_error: true },
    ]);
  });

  test('says an error in words where an image or document is with it, beside which the flag is refused', () => {
    for (const [part, type] of [[IMAGE, 'image'], [PDF, 'document']] as const) {
      const [block] = (payload({ turns: shown(true, part) }).messages[2]?.content ?? []) as { content: { type: string; text?: string }[]; is_error?: boolean }[];
      assert.deepEqual(block?.content.map(({ type: name, text }) => text ?? name), ['Error', type]);
      assert.equal(block?.is_error, undefined);
    }
  });

  test('is refused by its path for a text by URL', () => {
    const failure = failureOf(adapter.encodeChat(request({ turns: shown(false, TEXT, WORDS_BY_URL) }), false));
    assert.deepEqual([failure.kind, failure.message.split(': ')[0]], ['unsupported', 'messages[2].content[0].content[1].url']);
  });
});
