/** Documents, and tool results of several parts, as parts of Gemini's content, by the generation of the model. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContentPart, DocumentPart, ImagePart, ToolResultPart, Turn } from '../../../src/core/chat.ts';
import { assistant, call, payload, refused, requestOf, user } from './fixtures.ts';

const PDF: DocumentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: undefined };
const NAMED: DocumentPart = { ...PDF, name: 'a.pdf' };
const BY_URL: DocumentPart = { ...PDF, source: { type: 'url', url: 'HTTPS://x.example/a.pdf' } };
const WORDS: DocumentPart = { ...PDF, mediaType: 'text/plain', source: { type: 'inline', base64: 'V29yZHM=' } };
const WORDS_BY_URL: DocumentPart = { ...WORDS, source: { type: 'url', url: 'https://x.example/a.txt' } };
const IMAGE: ImagePart = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'AAAA' } };
const IMAGE_BY_URL: ImagePart = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } };
const TEXT: ContentPart = { type: 'text', text: 'Read', state: undefined };

const PDF_SENT = { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } };
const IMAGE_SENT = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

const said = (...parts: ContentPart[]): Turn => ({ role: 'user', parts });
const answer = (toolCallId: string, content: ToolResultPart['content'], isError = false): Turn => ({ role: 'tool', parts: [{ type: 'tool_result', toolCallId, content, isError }] });
const shown = (content: readonly ContentPart[], isError = false): Turn[] => [user('Go'), assistant(call('c1', 'look')), answer('c1', content, isError)];
const lastParts = (model: string, turns: readonly Turn[]): unknown => payload(requestOf({ model, turns })).contents.at(-1)?.parts;

describe('a document of the user', () => {
  for (const [what, part, sent] of [
    ['a PDF goes inline', PDF, [PDF_SENT]],
    ['a PDF by URL goes as a file', BY_URL, [{ fileData: { mimeType: 'application/pdf', fileUri: 'HTTPS://x.example/a.pdf' } }]],
    ['a text goes inline', WORDS, [{ inlineData: { mimeType: 'text/plain', data: 'V29yZHM=' } }]],
    ['a name is text before it', NAMED, [{ text: 'a.pdf' }, PDF_SENT]],
  ] as const) {
    test(what, () => {
      assert.deepEqual(lastParts('gemini-2.5-flash', [said(TEXT, part)]), [{ text: 'Read' }, ...sent]);
      assert.deepEqual(lastParts('gemini-9-flash', [said(TEXT, part)]), [{ text: 'Read' }, ...sent]);
    });
  }

  for (const [what, model, part, sentence] of [
    ['a text by URL', 'gemini-9-flash', WORDS_BY_URL, 'Gemini takes text/plain documents inline only; send base64'],
    ['a PDF by an http URL', 'gemini-9-flash', { ...BY_URL, source: { type: 'url', url: 'http://x.example/?https:' } }, 'Gemini fetches documents over https only'],
    ['a PDF by URL for an old model', 'gemini-2.0-flash', BY_URL, 'Gemini takes documents for models before 2.5 inline only; send base64'],
  ] as const) {
    test(`${what} is refused by its path`, () => {
      const failure = refused(requestOf({ model, turns: [user('Hi'), said(TEXT, part)] }));
      assert.deepEqual([failure.kind, failure.message], ['unsupported', `messages[1].content[1].url: ${sentence}`]);
    });
  }
});

describe("a tool's result of several parts", () => {
  test('is a response with its own files, names among the words', () => {
    assert.deepEqual(lastParts('gemini-3-flash-preview', shown([TEXT, IMAGE, NAMED, WORDS, { ...TEXT, text: 'More' }])), [
      {
        functionResponse: {
          id: 'c1',
          name: 'look',
          response: { output: 'Read\na.pdf\nMore' },
          parts: [IMAGE_SENT, PDF_SENT, { inlineData: { mimeType: 'text/plain', data: 'V29yZHM=' } }],
        },
      },
    ]);
  });

  test('of text alone has no files', () => {
    const sent = [{ functionResponse: { id: 'c1', name: 'look', response: { output: 'Read\nRead' } } }];
    for (const model of ['gemini-9-flash', 'gemini-2.5-flash']) assert.deepEqual(lastParts(model, shown([TEXT, TEXT])), sent);
  });

  test('of an error keeps its files', () => {
    assert.deepEqual(lastParts('gemini-9-flash', shown([IMAGE], true)), [
      { functionResponse: { id: 'c1', name: 'look', response: { error: 'Error' }, parts: [IMAGE_SENT] } },
    ]);
  });

  test('comes, for models before 3, with its files behind all responses of the turn, in the order of the calls', () => {
    const turns = [
      user('Go'),
      assistant(call('c1', 'look'), call('c2', 'read')),
      answer('c2', [NAMED, BY_URL]),
      answer('c1', [TEXT, IMAGE], true),
      user('And?'),
    ];
    assert.deepEqual(lastParts('gemini-2.5-pro', turns), [
      { functionResponse: { id: 'c1', name: 'look', response: { error: 'Read' } } },
      { functionResponse: { id: 'c2', name: 'read', response: { output: '' } } },
      IMAGE_SENT,
      { text: 'a.pdf' },
      PDF_SENT,
      { fileData: { mimeType: 'application/pdf', fileUri: 'HTTPS://x.example/a.pdf' } },
      { text: 'And?' },
    ]);
  });

  for (const [what, model, part, sentence] of [
    ['a PDF by URL', 'gemini-9-flash', BY_URL, 'Gemini takes files in the results of tools inline only; send base64'],
    ['an image by URL', 'gemini-9-flash', IMAGE_BY_URL, 'Gemini takes files in the results of tools inline only; send base64'],
    ['an image by URL for an old model', 'gemini-2.5-flash', IMAGE_BY_URL, 'Gemini takes images inline only; send base64'],
    ['a text by URL for an old model', 'gemini-2.5-flash', WORDS_BY_URL, 'Gemini takes text/plain documents inline only; send base64'],
  ] as const) {
    test(`is refused by its path for ${what}`, () => {
      const failure = refused(requestOf({ model, turns: shown([TEXT, part]) }));
      assert.deepEqual([failure.kind, failure.message], ['unsupported', `messages[2].content[0].content[1].url: ${sentence}`]);
    });
  }
});
