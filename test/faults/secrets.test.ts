/** Keys and tokens in no output: the whole matrix of faults, at the log level debug, in a process of its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FAULTS, MODELS, startSandbox } from '../../src/sandbox/index.ts';
import { RunningProcess } from '../e2e/running-process.ts';
import { sandboxEnvironment, startGateway, user } from '../running-gateway.ts';
import { answerJson, environmentFor, inParallel, PATHS, startUpstream } from './upstream.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Each begins differently and holds what URLs encode. */
const SECRETS = {
  ANTHROPIC_API_KEY: 'Anthr0p1c-canary/key+with=signs&more',
  OPENAI_API_KEY: 'Open8Key-canary/key+with=signs&more',
  GEMINI_API_KEY: 'Gemin1Ky-canary/key+with=signs&more',
  GATEWAY_COMPAT_API_KEY: 'C0mpatKy-canary/key+with=signs&more',
  GATEWAY_AUTH_TOKEN: 'Call3rTk-canary/token+with=signs&more',
  GATEWAY_METRICS_TOKEN: 'Metr1cTk-canary/token+with=signs&more',
};
const SECOND_TOKEN = 'Sec0ndTk-canary/token+with=signs&more';

/** A secret as it could be told from text, down to its first eight characters. */
function traces(secret: string): string[] {
  const reversed = [...secret].reverse().join('');
  const base64 = [0, 1, 2].map((offset) => Buffer.from(' '.repeat(offset) + secret).toString('base64').slice(4, -4));
  return [secret.slice(0, 8), reversed, reversed.slice(0, 8), encodeURIComponent(secret), ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

function assertNoSecret(where: string, text: string): void {
  for (const [name, secret] of Object.entries({ ...SECRETS, SECOND_TOKEN })) {
    for (const trace of traces(secret)) {
      const at = text.indexOf(trace);
      assert.equal(at, -1, `${where} shows ${name}: ${text.slice(Math.max(0, at - 80), at + 80)}`);
    }
  }
}

/** Every model of the sandbox but those that take long: the flood, and the drip, which stalls like others. */
const ASKED = [...Object.keys(FAULTS), ...Object.keys(MODELS)]
  .filter((name) => name !== 'fake-flood' && name !== 'fake-drip' && name !== 'fake-huge')
  .map((name) => name.replace(/N+/, (digits) => (digits.length === 3 ? '418' : '1')));

/** The least that each format of other vendors takes. */
const DIALECTS: Readonly<Record<string, (text: string) => object>> = {
  '/v1/chat/completions': (content) => ({ messages: [{ role: 'user', content }] }),
  '/v1/responses': (input) => ({ input, store: false }),
  '/v1/messages': (content) => ({ max_tokens: 100, messages: [{ role: 'user', content }] }),
};

test('no key and no token shows in logs, replies or metrics, in any spelling, whatever goes wrong', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  // Repeats the key that it was sent in every spelling, in prose, in codes and in headers.
  const echo = await startUpstream(t, (response, request, body) => {
    const key = String(request.headers.authorization).replace('Bearer ', '');
    const spellings = [key, [...key].reverse().join(''), encodeURIComponent(key), Buffer.from(key).toString('base64'), Buffer.from(`x${key}`).toString('base64url'), `${key.slice(0, 8)}…`];
    const error = { message: `Bad key: ${spellings.join(' and ')}`, code: key, type: key, param: key };
    const isInside = body.includes('inside');
    answerJson(response, isInside ? 200 : 429, isInside && body.includes('nonsense') ? key : JSON.stringify({ error }), { 'x-echo': key, 'retry-after-ms': '1' });
  });
  const environment = {
    ...sandboxEnvironment(sandbox),
    ...SECRETS,
    GATEWAY_AUTH_TOKENS: `second:${SECOND_TOKEN}`,
    GATEWAY_COMPAT_BASE_URL: echo.origin,
    GATEWAY_FORWARD_ERROR_MESSAGES: 'true',
    GATEWAY_INCLUDE_RAW: 'true',
    GATEWAY_MAX_RETRIES: '1',
    GATEWAY_RETRY_AFTER_CAP: '10ms',
    GATEWAY_ATTEMPT_TIMEOUT: '200ms',
    GATEWAY_STREAM_IDLE_TIMEOUT: '200ms',
  };
  const running = new RunningProcess(t, [process.execPath, '--import', 'tsx', MAIN], environment);
  const url = await running.address();

  let replies = '';
  const ask = async (method: string, path: string, token: string, body?: unknown): Promise<void> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` }, body: text ?? null });
    replies += JSON.stringify([...response.headers]);
    try {
      for await (const chunk of response.body ?? []) replies += Buffer.from(chunk).toString();
    } catch (error) {
      // A stream that failed: its connection is broken off behind the error.
      assert.ok(path.startsWith('/v1/') && error instanceof TypeError, String(error));
    }
    replies += '\n';
  };
  const chats: { path: string; body: object }[] = ['anthropic', 'openai', 'gemini'].flatMap((provider) =>
    ASKED.flatMap((model) => PATHS.map((path) => ({ path, body: { provider, model, messages: [user(`${model} on ${path}`)] } }))),
  );
  for (const path of PATHS) {
    for (const text of ['x', 'inside', 'inside nonsense']) chats.push({ path, body: { provider: 'compat', model: 'm', messages: [user(text)] } });
  }
  for (const [path, bodyOf] of Object.entries(DIALECTS)) {
    for (const text of ['x', 'inside', 'inside nonsense']) chats.push({ path, body: { model: 'compat/m', ...bodyOf(text) } });
    // Each fault in each format, of one provider after the other, whole and streamed in turn.
    for (const [index, model] of ASKED.entries()) {
      const provider = ['anthropic', 'openai', 'gemini'][index % 3];
      chats.push({ path, body: { model: `${provider}/${model}`, stream: index % 2 === 0, ...bodyOf(model) } });
    }
  }
  await inParallel(chats.length, 8, async (index) => {
    const chat = chats[index];
    await ask('POST', chat?.path ?? '', index % 2 === 0 ? SECRETS.GATEWAY_AUTH_TOKEN : SECOND_TOKEN, chat?.body);
  });
  for (const provider of ['anthropic', 'openai', 'gemini', 'compat', 'nobody']) await ask('GET', `/v1/models?provider=${provider}`, SECOND_TOKEN);
  // What a caller may get wrong.
  await ask('POST', '/v1/chat', `${SECRETS.GATEWAY_AUTH_TOKEN}x`, {});
  await ask('POST', '/v1/chat', SECRETS.ANTHROPIC_API_KEY, {});
  await ask('POST', '/v1/chat', SECOND_TOKEN, '{"model":');
  await ask('GET', '/nowhere', SECOND_TOKEN);
  await ask('GET', '/metrics', SECRETS.GATEWAY_METRICS_TOKEN);
  await ask('GET', '/metrics', SECOND_TOKEN);

  assert.match(replies, /gateway_chats_total\{/);
  for (const { path, headers, body } of sandbox.calls) {
    assertNoSecret('a path', path);
    assertNoSecret('a body', body);
    const { authorization: _bearer, 'x-api-key': _anthropic, 'x-goog-api-key': _gemini, ...others } = headers;
    assertNoSecret('a header', JSON.stringify(others));
  }
  running.child.kill('SIGTERM');
  const { out, err } = await running.exited;
  const printed = (out + err).trimEnd().split('\n');
  // Node's own warnings among them.
  assert.deepEqual(printed.filter((line) => !line.startsWith('{')), []);
  const lines = printed.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.ok(lines.filter((line) => line['message'] === 'attempt').length >= chats.length);
  assertNoSecret('the log', out + err);
  assertNoSecret('a reply', replies);
});

test('a code that goes on to the SDKs of its vendor does not if it holds a secret', async (t) => {
  const error = (code: string): string => JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: '', details: { error_code: code } } });
  const key = 'Anthr0p1c-canary-key';
  const upstream = await startUpstream(t, (response, _request, body) => {
    const code = body.includes('known') ? 'ramp_limit_exceeded' : `x_${key}`;
    if (!body.includes('"stream":true')) answerJson(response, 429, error(code));
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: error\ndata: ${error(code)}\n\n`);
  });
  const gateway = await startGateway(t, { ...environmentFor(upstream), ANTHROPIC_API_KEY: key, GATEWAY_MAX_RETRIES: '0' });
  for (const stream of [false, true]) {
    const codeFor = async (content: string): Promise<unknown> => {
      const response = await gateway.post('/v1/messages', { model: 'anthropic/m', max_tokens: 1, stream, messages: [{ role: 'user', content }] });
      const text = await response.text();
      assertNoSecret('a reply', text.replaceAll(key, SECRETS.ANTHROPIC_API_KEY));
      return (JSON.parse(text) as { error: { details?: { error_code: string } } }).error.details?.error_code;
    };
    assert.deepEqual([await codeFor('known'), await codeFor('else')], ['ramp_limit_exceeded', undefined]);
  }
});
