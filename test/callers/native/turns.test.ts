/** Documents, and tool results of several parts, in the messages of the native format. */

import { deepEqual, fail } from 'node:assert/strict';
import { test } from 'node:test';
import { decodeChatRequest } from '../../../src/callers/native/request.ts';
import type { ContentPart } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';

const PDF = '"type":"document","media_type":"application/pdf"';
const TEXT = '"type":"document","media_type":"text/plain"';
const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');

/** A message of the user's with this part, and one of a tool's with it in a result: both take the same parts. */
const PLACES: readonly (readonly [what: string, body: (part: string) => string, path: string])[] = [
  ['of the user', (part) => `{"model":"m","messages":[{"role":"user","content":[${part}]}]}`, 'messages[0].content[0]'],
  [
    'in a result',
    (part) => `{"model":"m","messages":[{"role":"tool","content":[{"type":"tool_result","tool_call_id":"c","content":[{"type":"text","text":"a"},${part}]}]}]}`,
    'messages[0].content[0].content[1]',
  ],
];

function decodedPart(body: string): ContentPart | undefined {
  const request = decodeChatRequest(Buffer.from(body));
  if (request instanceof Failure) return fail(request.message);
  const [turn] = request.turns;
  if (turn?.role === 'user') return turn.parts[0];
  const content = turn?.role === 'tool' ? turn.parts[0]?.content : undefined;
  return typeof content === 'object' ? content[1] : undefined;
}

const inline = (mediaType: string, data: string, name?: string): unknown => ({ type: 'document', mediaType, source: { type: 'inline', base64: data }, name });
const byUrl = (mediaType: string, url: string, name?: string): unknown => ({ type: 'document', mediaType, source: { type: 'url', url }, name });

for (const [what, bodyWith] of PLACES) {
  for (const [part, expected] of [
    ['{"type":"text","text":"b"}', { type: 'text', text: 'b', state: undefined }],
    ['{"type":"image","media_type":"image/png","data":"QQ=="}', { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'QQ==' } }],
    ['{"type":"image","url":"https://a/b"}', { type: 'image', source: { type: 'url', url: 'https://a/b' } }],
    [`{${PDF},"data":"QQ=="}`, inline('application/pdf', 'QQ==')],
    [`{${PDF},"data":"QQ==","url":null,"name":null,"text":null}`, inline('application/pdf', 'QQ==')],
    [`{${PDF},"data":"QQ==","name":"Größe \\n.pdf"}`, inline('application/pdf', 'QQ==', 'Größe \n.pdf')],
    [`{${PDF},"data":"QQ==","name":""}`, inline('application/pdf', 'QQ==')],
    [`{${PDF},"data":"${base64(Buffer.from([0xff]))}"}`, inline('application/pdf', base64(Buffer.from([0xff])))],
    [`{${PDF},"url":"https://a/b.pdf?c#d","data":null}`, byUrl('application/pdf', 'https://a/b.pdf?c#d')],
    [`{${TEXT},"data":"${base64('Größe')}","name":"a.txt"}`, inline('text/plain', base64('Größe'), 'a.txt')],
    [`{${TEXT},"url":"http://a/b","name":"a.txt"}`, byUrl('text/plain', 'http://a/b', 'a.txt')],
  ] as const) {
    test(`${part} ${what} is read`, () => {
      deepEqual(decodedPart(bodyWith(part)), expected);
    });
  }
}

const NEITHER = ': a document needs either data or url';
const NOT_BASE64 = '.data: must be canonical base64 (RFC 4648 section 4, padded)';
const NOT_URL = '.url: must be an absolute http or https URL';

for (const [what, bodyWith, path] of PLACES) {
  for (const [part, complaint] of [
    ['{"type":"document"}', '.media_type: required (one of application/pdf, text/plain)'],
    ['{"type":"document","data":"QQ=="}', '.media_type: required (one of application/pdf, text/plain)'],
    ['{"type":"document","media_type":null,"data":"QQ=="}', '.media_type: required (one of application/pdf, text/plain)'],
    ['{"type":"document","media_type":"application/msword","data":"QQ=="}', '.media_type: must be one of application/pdf, text/plain'],
    ['{"type":"document","media_type":"APPLICATION/PDF","data":"QQ=="}', '.media_type: must be one of application/pdf, text/plain'],
    ['{"type":"document","media_type":"text/plain; charset=utf-8","data":"QQ=="}', '.media_type: must be one of application/pdf, text/plain'],
    ['{"type":"document","media_type":1,"data":"QQ=="}', '.media_type: expected a string, got a number'],
    [`{${PDF}}`, NEITHER],
    [`{${PDF},"name":"a"}`, NEITHER],
    [`{${PDF},"data":"QQ==","url":"https://a/b"}`, NEITHER],
    [`{${PDF},"data":""}`, NOT_BASE64],
    [`{${PDF},"data":"QR=="}`, NOT_BASE64],
    [`{${PDF},"data":"QQ"}`, NOT_BASE64],
    [`{${PDF},"data":"data:application/pdf;base64,QQ=="}`, NOT_BASE64],
    [`{${PDF},"data":1}`, '.data: expected a string, got a number'],
    [`{${TEXT},"data":"plain words"}`, NOT_BASE64],
    [`{${TEXT},"data":"${base64(Buffer.from([0x61, 0xff]))}"}`, '.data: must be base64 of UTF-8 text'],
    [`{${TEXT},"data":"${base64(Buffer.from('ab', 'utf16le')).slice(0, -4)}${base64(Buffer.from([0xc3]))}"}`, '.data: must be base64 of UTF-8 text'],
    [`{${PDF},"url":""}`, NOT_URL],
    [`{${PDF},"url":"file:///a.pdf"}`, NOT_URL],
    [`{${PDF},"url":"gs://a/b.pdf"}`, NOT_URL],
    [`{${PDF},"url":"data:application/pdf;base64,QQ=="}`, NOT_URL],
    [`{${PDF},"data":"QQ==","name":1}`, '.name: expected a string, got a number'],
    [`{${PDF},"data":"QQ==","text":"a"}`, '.text: unknown field'],
    [`{${PDF},"data":"QQ==","title":"a"}`, '.title: unknown field'],
    [`{${PDF},"data":"QQ==","Name":"a"}`, '.Name: unknown field; did you mean name?'],
    ['{"type":"image","media_type":"image/png","data":"QQ==","name":"a"}', '.name: unknown field'],
    ['{"type":"text","text":""}', '.text: must not be empty'],
    ['{"type":"text","text":"a","provider_state":"s"}', '.provider_state: unknown field'],
    ['{"type":"image"}', ': an image needs either media_type and data, or url'],
    ['"a"', ': expected an object, got a string'],
    ['{}', '.type: required'],
  ] as const) {
    test(`${part} ${what} is refused: ${complaint}`, () => {
      const failure = decodeChatRequest(Buffer.from(bodyWith(part)));
      if (!(failure instanceof Failure)) return fail('was accepted');
      deepEqual([failure.kind, failure.message], ['bad_request', `${path}${complaint}`]);
    });
  }
}

const result = (content: string): string => `{"model":"m","messages":[{"role":"tool","content":[{"type":"tool_result","tool_call_id":"c","content":${content}}]}]}`;

test('a result of no parts says what an empty text says', () => {
  const request = decodeChatRequest(Buffer.from(result('[]')));
  if (request instanceof Failure) return fail(request.message);
  deepEqual(request.turns, [{ role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c', content: '', isError: false }] }]);
});

for (const type of ['tool_result', 'tool_call', 'thinking']) {
  test(`a result has no part of type ${type}`, () => {
    const failure = decodeChatRequest(Buffer.from(result(`[{"type":"${type}"}]`)));
    if (!(failure instanceof Failure)) return fail('was accepted');
    deepEqual(failure.message, 'messages[0].content[0].content[0].type: must be text, image or document in a tool result');
  });
}

test('an unknown field inside a result comes before one that is missing anywhere', () => {
  const failure = decodeChatRequest(Buffer.from(result(`[{"type":"text","text":"a"},{${PDF},"data":"QQ==","caption":"a"}]`).replace('"model":"m",', '')));
  if (!(failure instanceof Failure)) return fail('was accepted');
  deepEqual(failure.message, 'messages[0].content[0].content[1].caption: unknown field');
});
