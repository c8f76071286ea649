import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { ContentPart, DocumentPart, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { adapterOf, assistant, call, messagesOf, requestOf, result, text, user } from './setup.ts';

const words = (value: string): ContentPart => ({ type: 'text', text: value, state: undefined });
const PDF: DocumentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'a.pdf' };
const PDF_BY_URL: ContentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'url', url: 'https://x.test/a.pdf' }, name: undefined };
const PDFS: readonly ContentPart[] = [PDF, PDF_BY_URL];
const TEXT_FILE: DocumentPart = { type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: Buffer.from('Grüße, 👋').toString('base64') }, name: 'a.txt' };
const TEXT_BY_URL: ContentPart = { type: 'document', mediaType: 'text/plain', source: { type: 'url', url: 'https://x.test/a.txt' }, name: undefined };
const IMAGE: ContentPart = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'iVBORw==' } };
const IMAGE_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==' } };
const PDF_PART = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } };

const asking = (...parts: readonly ContentPart[]): Turn => ({ role: 'user', parts });
const answering = (...results: readonly (readonly [id: string, content: string | readonly ContentPart[], isError?: boolean])[]): Turn => ({
  role: 'tool', parts: results.map(([toolCallId, content, isError = false]) => ({ type: 'tool_result', toolCallId, content, isError })),
});

const refusal = (provider: string, ...turns: readonly Turn[]): string => {
  const refused = adapterOf(provider).encodeChat(requestOf({ turns }), false);
  assert.ok(refused instanceof Failure, provider);
  assert.equal(refused.kind, 'unsupported');
  return refused.message;
};

test('a PDF is a file with a data URL, and a name even where it has none', () => {
  for (const provider of ['openai', 'azure', 'openrouter', 'compat']) {
    assert.deepEqual(messagesOf(adapterOf(provider), [asking(words('sum up'), PDF)]), [{ role: 'user', content: [{ type: 'text', text: 'sum up' }, PDF_PART] }], provider);
  }
  assert.deepEqual(messagesOf(adapterOf('openai'), [asking({ ...PDF, name: undefined })]), [
    { role: 'user', content: [{ type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }] },
  ]);
});

test('a PDF by URL goes where it is fetched, and is refused elsewhere', () => {
  assert.deepEqual(messagesOf(adapterOf('openrouter'), [asking(PDF_BY_URL)]), [
    { role: 'user', content: [{ type: 'file', file: { filename: 'document.pdf', file_data: 'https://x.test/a.pdf' } }] },
  ]);
  assert.deepEqual(messagesOf(adapterOf('mistral'), [asking(PDF_BY_URL, PDF)]), [
    {
      role: 'user',
      content: [
        { type: 'document_url', document_url: 'https://x.test/a.pdf' },
        { type: 'document_url', document_url: 'data:application/pdf;base64,JVBERi0=', document_name: 'a.pdf' },
      ],
    },
  ]);
  for (const provider of ['openai', 'compat']) {
    assert.equal(refusal(provider, user('a'), asking(words('b'), PDF_BY_URL)), `messages[1].content[1].url: ${provider} takes a PDF inline only; send base64`);
  }
});

test('a PDF is refused by hosts that are not known to read any', () => {
  for (const provider of ['groq', 'deepseek', 'cerebras', 'together', 'ollama', 'llamacpp', 'xai', 'vllm', 'perplexity']) {
    for (const part of PDFS) assert.equal(refusal(provider, asking(words('b'), part)), `messages[0].content[1]: ${provider} takes no PDF`);
    assert.equal(refusal(provider, assistant(call('c1')), answering(['c1', [PDF]])), `messages[1].content[0].content[0]: ${provider} takes no PDF`);
  }
});

test('a text document is text to every host, and none fetches one', () => {
  for (const provider of ['openai', 'mistral', 'groq', 'ollama']) {
    assert.deepEqual(messagesOf(adapterOf(provider), [asking(TEXT_FILE)]), [{ role: 'user', content: 'a.txt\n\nGrüße, 👋' }], provider);
    assert.deepEqual(messagesOf(adapterOf(provider), [asking(words('read'), TEXT_FILE)]), [
      { role: 'user', content: [{ type: 'text', text: 'read' }, { type: 'text', text: 'a.txt\n\nGrüße, 👋' }] },
    ], provider);
    assert.deepEqual(messagesOf(adapterOf(provider), [asking({ ...TEXT_FILE, name: undefined })]), [{ role: 'user', content: 'Grüße, 👋' }], provider);
    assert.equal(refusal(provider, asking(TEXT_BY_URL)), 'messages[0].content[0].url: a text document goes inline only');
    assert.equal(refusal(provider, assistant(call('c1')), answering(['c1', [TEXT_BY_URL]])), 'messages[1].content[0].content[0].url: a text document goes inline only');
  }
});

test('a result of texts is one text, a failed one says so in front', () => {
  const turns = [assistant(call('c1'), call('c2')), answering(['c1', [words('a'), TEXT_FILE]], ['c2', [words('no'), words('way')], true])];
  for (const provider of ['openai', 'mistral', 'groq']) {
    const contents = (messagesOf(adapterOf(provider), turns) as { content: unknown }[]).slice(1).map(({ content }) => content);
    assert.deepEqual(contents, ['a\n\na.txt\n\nGrüße, 👋', 'Error: no\n\nway'], provider);
  }
});

const LABEL = (id: string): object => ({ type: 'text', text: `Attached to the result of tool call ${id}:` });

test('what a result holds besides text follows in one message of the user, behind all results of the turn', () => {
  const turns = [
    user('go'),
    assistant(call('c1'), call('c2'), call('c3')),
    answering(['c1', [words('a chart'), IMAGE]], ['c2', 'plain']),
    answering(['c3', [IMAGE, PDF], true]),
    assistant(text('done')),
  ];
  const tool = (id: string, content: string): object => ({ role: 'tool', tool_call_id: id, content });
  assert.deepEqual(messagesOf(adapterOf('openai'), turns).slice(2), [
    tool('c1', 'a chart'),
    tool('c2', 'plain'),
    tool('c3', 'Error'),
    { role: 'user', content: [LABEL('c1'), IMAGE_PART, LABEL('c3'), IMAGE_PART, PDF_PART] },
    { role: 'assistant', content: 'done' },
  ]);
});

test('that message is the last where the results are, and goes out with the next of the user\'s where turns in a row are refused', () => {
  const turns = [user('go'), assistant(call('c1')), answering(['c1', [IMAGE]])];
  const attached = { role: 'user', content: [LABEL('c1'), IMAGE_PART] };
  for (const provider of ['openai', 'groq', 'deepseek', 'vllm']) assert.deepEqual(messagesOf(adapterOf(provider), turns).at(-1), attached, provider);
  for (const provider of ['openai', 'groq']) {
    assert.deepEqual(messagesOf(adapterOf(provider), [...turns, user('and?')]).slice(-2), [attached, { role: 'user', content: 'and?' }], provider);
  }
  for (const provider of ['deepseek', 'vllm', 'compat']) {
    assert.deepEqual(messagesOf(adapterOf(provider), [...turns, user('and?')]).slice(-2), [
      { role: 'tool', tool_call_id: 'c1', content: '' },
      { role: 'user', content: [LABEL('c1'), IMAGE_PART, { type: 'text', text: 'and?' }] },
    ], provider);
  }
});

test('it names calls by the ids under which they went out', () => {
  const id = 'x'.repeat(41);
  const [first, second, third] = messagesOf(adapterOf('openai'), [assistant(call(id)), answering([id, [IMAGE]])]) as [
    { tool_calls: { id: string }[] }, { tool_call_id: string }, { content: { text: string }[] },
  ];
  assert.equal(first.tool_calls[0]?.id, second.tool_call_id);
  assert.equal(third.content[0]?.text, `Attached to the result of tool call ${second.tool_call_id}:`);
});

test('Mistral, which refuses a user right behind a tool, is shown nothing but text', () => {
  for (const part of [IMAGE, PDF, PDF_BY_URL]) {
    assert.equal(refusal('mistral', user('a'), assistant(call('c1')), result('c1', 'x'), assistant(call('c2')), answering(['c2', [words('a'), part]])),
      'messages[4].content[0].content[1]: mistral takes only text in a tool result');
  }
});
