import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bounded, createLiveRedactor, createRedactor } from '../../src/base/redact.ts';
import { Secret } from '../../src/base/secret.ts';
import { sha256 } from '../../src/base/sha256.ts';
import { nextTurn } from '../../src/base/turn.ts';

const key = 'q7+Zt/4w=Lm.Xc-93_vB';
const redact = createRedactor([new Secret(key), new Secret('pass1')]);

const percentEncodedWhole = [...key].map((char) => '%' + char.charCodeAt(0).toString(16)).join('');

const masked: readonly (readonly [what: string, text: string, expected: string])[] = [
  ['as it is', `key ${key} is bad`, 'key [key] is bad'],
  ['every time it occurs', `${key},"${key}"`, '[key],"[key]"'],
  ['with more after it', `${key}abc def`, '[key] def'],
  ['cut short', `key ${key.slice(0, 11)}`, 'key [key]'],
  ['cut to its first 8 characters', `key ${key.slice(0, 8)}`, 'key [key]'],
  ['with its middle hidden by the provider', `key ${key.slice(0, 8)}*****3_vB.`, 'key [key].'],
  ['reversed', `x ${[...key].reverse().join('')} y`, 'x [key] y'],
  ['percent-encoded', `?key=${encodeURIComponent(key)}&a=1`, '?key=[key]&a=1'],
  ['percent-encoded in lower case', `?key=${encodeURIComponent(key).replace(/%../g, (code) => code.toLowerCase())}&a`, '?key=[key]&a'],
  ['percent-encoded in every character', `a ${percentEncodedWhole} b`, 'a [key] b'],
  ['in base64', `a ${Buffer.from(key).toString('base64')} b`, 'a [key] b'],
  ['in base64 without padding', `a ${Buffer.from(key).toString('base64').replace(/=+$/, '')} b`, 'a [key] b'],
  ['in base64url', `a ${Buffer.from(key).toString('base64url')} b`, 'a [key] b'],
  ['with its slashes escaped', `"${JSON.stringify(key).slice(1, -1).replaceAll('/', '\\/')}"`, '"[key]"'],
  ['with every character escaped as in JSON', `a ${[...key].map((char) => '\\u' + char.charCodeAt(0).toString(16).padStart(4, '0')).join('')} b`, 'a [key] b'],
  ['with escapes in capitals, as .NET writes them', `a ${key.replace(/[+/=]/g, (char) => '\\u00' + char.charCodeAt(0).toString(16).toUpperCase())} b`, 'a [key] b'],
  ['in hex', `a ${Buffer.from(key).toString('hex')} b`, 'a [key] b'],
  ['in hex in capitals', `a ${Buffer.from(key).toString('hex').toUpperCase()} b`, 'a [key] b'],
  ['in hex cut to its first 8 characters', `a ${Buffer.from(key).toString('hex').slice(0, 16)} b`, 'a [key] b'],
  ['in capitals', `a ${key.toUpperCase()} b`, 'a [key] b'],
  ['in small letters', `a ${key.toLowerCase()} b`, 'a [key] b'],
  ['in base64 with its slashes escaped', `a ${Buffer.from(key).toString('base64').replaceAll('/', '\\/')} b`, 'a [key] b'],
  ['one shorter than 8 characters', 'say pass1, pass1!', 'say [key], [key]!'],
  ['one shorter than 8 characters in another case', 'say Pass1', 'say [key]'],
];

for (const [what, text, expected] of masked) {
  test(`createRedactor masks a secret ${what}`, () => assert.equal(redact(text), expected));
}

for (const prefix of ['', 'u', 'us', 'use', 'user:', 'Bearer ']) {
  test(`createRedactor masks a secret in base64 after ${JSON.stringify(prefix)}`, () => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${prefix}${key}:end`).toString(encoding);
      const shown = redact(text).replace('[key]', '.');
      assert.match(redact(text), /\[key\]/);
      assert.doesNotMatch(Buffer.from(shown, 'base64').toString('latin1'), /Zt|Lm|93_/);
    }
  });
}

const untouched = [
  key.slice(0, 7),
  'a plain sentence, with nothing in it',
  'pass 1',
  '1ssap',
  Buffer.from('pass1').toString('base64'),
  'a task-oriented, risk-averse disk-based sk-8',
  'Bearer authentication is required; send a bearer token',
  'AIza xai- gsk_ AQ.',
];

for (const text of untouched) {
  test(`createRedactor leaves ${JSON.stringify(text)} alone`, () => assert.equal(redact(text), text));
}

const shapes = [
  'sk-abcdefgh12345678',
  'sk-proj-abc_DEF-123456',
  'sk-ant-api03-abcdef_123-xyz',
  'sk-or-v1-0123456789abcdef',
  'sk-abcde***********wxyz',
  'AIzaSyA1234567890abcdefghijklmnopqrstuv',
  'AQ.Ab8RN6Kabcdef_123-x',
  'gsk_abcdefghijklmnop1234',
  'xai-abcdefghijklmnop1234',
  'Bearer abc.def-123~x+/==',
  'bearer a1234567',
];

for (const shape of shapes) {
  test(`createRedactor masks ${shape}, a key by its looks`, () => {
    const any = createRedactor([]);
    assert.equal(any(`Incorrect key provided: ${shape}. See "${shape}"`), 'Incorrect key provided: [key]. See "[key]"');
  });
}

test('createRedactor takes secrets for text, not for patterns', () => {
  const odd = createRedactor([new Secret('a.c*(d[e]^$|{1}\\?')]);
  assert.equal(odd('x a.c*(d[e]^$|{1}\\? y'), 'x [key] y');
  assert.equal(odd('abcccd[e]'), 'abcccd[e]');
});

test('createRedactor takes short secrets for text, not for patterns', () => {
  assert.equal(createRedactor([new Secret('a.*')])('abc a.* d'), 'abc [key] d');
});

test('createRedactor masks secrets beyond ASCII, percent-encoded too', () => {
  const foreign = createRedactor([new Secret('schlüssel😀x')]);
  assert.equal(foreign('a schlüssel😀x b'), 'a [key] b');
  assert.equal(foreign(`a ${encodeURIComponent('schlüssel😀x')} b`), 'a [key] b');
});

test('createRedactor masks a percent-encoded secret behind a percent sign that makes an escape of its beginning', () => {
  const mask = createRedactor([new Secret('abc/defghijk+lmn'), new Secret('4/5=6')]);
  assert.equal(mask('100%abc%2Fdefghijk%2Blmn'), '100%[key]');
  assert.equal(mask('%4abc%2Fdefghijk%2Blmn'), '%4[key]');
  assert.equal(mask('%24%2F5%3D6'), '%2[key]');
});

test('createRedactor masks secrets with quotes and backslashes as JSON writes them', () => {
  const odd = 'a"b\\c/d"e\\f';
  assert.equal(createRedactor([new Secret(odd)])(`x ${JSON.stringify(odd).slice(1, -1)} y`), 'x [key] y');
});

test('createRedactor masks in base64 a secret whose base64 has slashes', () => {
  const slashes = '???>>>???>>>';
  const base64 = Buffer.from(slashes).toString('base64');
  assert.match(base64, /\//);
  for (const text of [base64, base64.replaceAll('/', '\\/')]) assert.equal(createRedactor([new Secret(slashes)])(`x ${text} y`), 'x [key] y');
});

test('createRedactor masks a secret of many thousand characters by its beginning, with what follows, in base64 too', () => {
  const long = `${'eyJhbGciOiJSUzI1NiJ9.'.repeat(800)}end`;
  const masked = createRedactor([new Secret(long)]);
  assert.equal(masked(`x ${long} y`), 'x [key] y');
  assert.equal(masked(`x ${Buffer.from(long).toString('base64')} y`), 'x [key] y');
});

test('createLiveRedactor masks what is a secret now, and no more what is none', () => {
  let secrets: readonly Secret[] = [];
  const live = createLiveRedactor(() => secrets);
  assert.equal(live('first-token second-token'), 'first-token second-token');
  secrets = [new Secret('first-token')];
  assert.equal(live('first-token second-token'), '[key] second-token');
  secrets = [new Secret('second-token')];
  assert.equal(live('first-token second-token'), 'first-token [key]');
});

test('createRedactor needs no longer for thousands of secrets than for one, however these begin', { timeout: 60_000 }, async () => {
  for (const start of ['', 'token-of-']) {
    const secrets = Array.from({ length: 3000 }, (_, index) => new Secret(start + sha256(String(index))));
    const many = createRedactor(secrets);
    const prose = 'the provider says: '.repeat(200);
    for (const secret of secrets.slice(0, 20)) {
      const base64 = Buffer.from(secret.reveal()).toString('base64');
      assert.equal(many(`${prose}${secret.reveal()}, ${base64}.`), `${prose}[key], [key].`);
      // So that the limit on time can end it.
      await nextTurn();
    }
  }
});

test('createRedactor masks a secret that stands there twice, the second time escaped', () => {
  const odd = 'a/b"c\\d/e-f_g%41h';
  const json = JSON.stringify(odd).slice(1, -1);
  for (const text of [json, json.replaceAll('/', '\\/'), encodeURIComponent(odd), json.replaceAll('%', '\\u0025'), odd.replace('%', '%25')]) {
    assert.equal(createRedactor([new Secret(odd)])(`x ${odd} y ${text} z`), 'x [key] y [key] z', text);
  }
});

test('createRedactor ignores an empty secret', () => {
  assert.equal(createRedactor([new Secret('')])('abc'), 'abc');
});

test('createRedactor masks the longer of two secrets with one beginning', () => {
  const both = createRedactor([new Secret('abcdefgh1'), new Secret('abcdefgh1234')]);
  assert.equal(both('abcdefgh1234 abcdefgh1'), '[key] [key]');
  for (const shorter of ['abc', 'abcdefgh1']) {
    const secrets = [new Secret(shorter), new Secret('abcdefgh1$(2) 34')];
    for (const order of [secrets, secrets.toReversed()]) assert.equal(createRedactor(order)('x abcdefgh1$(2) 34 y'), 'x [key] y', shorter);
  }
});

test('createRedactor gets through a megabyte of almost-keys', () => {
  const text = 'Bearer sk-AIza q7+Zt/4 '.repeat(40_000);
  assert.equal(redact(text), text);
});

test('bounded leaves a text of the greatest length alone', () => assert.equal(bounded('abcde', 5), 'abcde'));

test('bounded cuts a longer text and says so', () => assert.equal(bounded('abcdef', 5), 'abcd…'));

test('bounded does not cut a surrogate pair', () => {
  assert.equal(bounded('abc😀def', 5), 'abc…');
  assert.equal(bounded('abc😀def', 6), 'abc😀…');
});
