/** What tells a request that is too long from one that is wrong, and a quota from a rate: facts of the vendors and hosts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compatRow } from '../../src/providers/hosts.ts';
import { PROVIDER_ROWS } from '../../src/providers/index.ts';

function failureOf(provider: string, status: number, body: unknown) {
  const row = provider === 'compat' ? compatRow(provider) : PROVIDER_ROWS.find(({ name }) => name === provider);
  assert.ok(row, provider);
  return row.createAdapter(provider).decodeFailure(status, JSON.stringify(body));
}

const error = (message: string, fields: object = {}): object => ({ error: { message, ...fields } });
const anthropicError = (type: string, message: string, fields: object = {}): object => ({ type: 'error', error: { type, message, ...fields } });

const TOO_LONG: readonly (readonly [provider: string, status: number, body: object])[] = [
  ['anthropic', 400, anthropicError('invalid_request_error', 'prompt is too long: 3333404 tokens > 200000 maximum')],
  ['anthropic', 400, anthropicError('invalid_request_error', 'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000')],
  ['anthropic', 413, anthropicError('request_too_large', 'Request exceeds the maximum size')],
  ['gemini', 400, error('The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).', { code: 400, status: 'INVALID_ARGUMENT' })],
  ['openai', 400, error('Your input exceeds the context window of this model.', { code: 'context_length_exceeded', param: 'input' })],
  ['openai', 429, error('Request too large for gpt-4o on tokens per min (TPM): Limit 1, Requested 2', { code: 'rate_limit_exceeded', type: 'tokens' })],
  ['deepseek', 400, error("This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens", { code: 'invalid_request_error' })],
  ['xai', 400, { code: 'invalid-argument', error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." }],
  ['groq', 400, error('Please reduce the length of the messages or completion.', { type: 'invalid_request_error' })],
  ['ollama', 400, error('prompt too long; exceeded max context length by 1119046 tokens', { type: 'invalid_request_error' })],
  ['openrouter', 400, error("This endpoint's maximum context length is 8192 tokens.", { code: 400 })],
  ['moonshot', 400, error('Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)', { type: 'invalid_request_error' })],
  ['compat', 400, error('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]', { code: 'invalid_parameter_error' })],
  ['compat', 400, error('Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).')],
  ['zai', 400, error('Prompt exceeds max length', { code: '1261' })],
  ['zai', 400, error('Prompt too long', { code: '1261' })],
  ['zai', 400, error('tokens in request more than max tokens allowed', { code: '1210' })],
];

test('a request that is more than the model takes is told from one that is wrong', () => {
  for (const [provider, status, body] of TOO_LONG) {
    const failure = failureOf(provider, status, body);
    assert.equal(failure.isTooLong, true, JSON.stringify([provider, body]));
    assert.equal(failure.isRetried, false, JSON.stringify([provider, body]));
  }
  for (const [provider, body] of [
    ['anthropic', anthropicError('invalid_request_error', 'max_tokens: Field required')],
    ['gemini', error('Invalid value at temperature', { code: 400, status: 'INVALID_ARGUMENT' })],
    ['openai', error('Invalid value for temperature', { code: 'invalid_value' })],
  ] as const) {
    assert.equal(failureOf(provider, 400, body).isTooLong, false, JSON.stringify(body));
  }
  assert.equal(failureOf('openai', 429, error('Rate limit reached', { code: 'rate_limit_exceeded' })).isTooLong, false);
});

test('a quota that is used up is told from a rate', () => {
  const violation = (quotaId: string): object => ({ details: [{ violations: [{ quotaId }] }], code: 429, status: 'RESOURCE_EXHAUSTED' });
  for (const [provider, body, isQuota] of [
    ['anthropic', anthropicError('rate_limit_error', 'x', { details: { error_code: 'enforced_spend_limit_reached' } }), true],
    ['anthropic', anthropicError('rate_limit_error', 'x'), false],
    ['gemini', error('x', violation('GenerateRequestsPerDayPerProjectPerModel-FreeTier')), true],
    ['gemini', error('x', violation('GenerateRequestsPerMinutePerProject')), false],
    ['openai', error('x', { code: 'insufficient_quota' }), true],
    ['openai', error('x', { code: 'rate_limit_exceeded' }), false],
    ['openai', error('Request too large for gpt-4o', { code: 'rate_limit_exceeded' }), false],
  ] as const) {
    assert.equal(failureOf(provider, 429, body).isQuota, isQuota, JSON.stringify([provider, body]));
  }
});
