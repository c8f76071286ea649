import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainModelName } from '../../src/core/model-name.ts';

/** By plain name: how it is written. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'claude-sonnet-4': [
    'claude-sonnet-4',
    'Claude-Sonnet-4',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4@20250514',
    'claude-sonnet-4@default',
    'anthropic/claude-sonnet-4',
    'anthropic/claude-sonnet-4:thinking',
    'anthropic.claude-sonnet-4-20250514-v1:0',
    'us.anthropic.claude-sonnet-4-20250514-v1:0',
    'us-gov.anthropic.claude-sonnet-4-20250514-v1:0',
    'global.anthropic.claude-sonnet-4-20250514-v1:0:200k',
    'bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0',
    'publishers/anthropic/models/claude-sonnet-4@20250514',
    'databricks-claude-sonnet-4',
    'anthropic--claude-sonnet-4',
  ],
  'claude-opus-4.6': ['claude-opus-4.6', 'anthropic/claude-opus-4.6', 'anthropic/claude-opus-4.6:beta'],
  'claude-opus-4-6-v1': ['anthropic.claude-opus-4-6-v1'],
  'gemini-2.5-flash': ['gemini-2.5-flash', 'models/gemini-2.5-flash', 'google/gemini-2.5-flash', 'publishers/google/models/gemini-2.5-flash'],
  'gemini-2.5-flash-preview-05-20': ['models/gemini-2.5-flash-preview-05-20'],
  'gpt-5.4': ['gpt-5.4', 'gpt-5.4-2026-03-05', 'openai/gpt-5.4', 'openai/gpt-5.4-20260305', 'openai.gpt-5.4'],
  'gpt-4o-mini': [
    'gpt-4o-mini-2024-07-18',
    'ft:gpt-4o-mini-2024-07-18:acme::AbC123',
    'ft:gpt-4o-mini:acme:our-chat-pro:AbC123:ckpt-step-90',
    'ft:gpt-4o-mini:acme/east:o3-deep-research:AbC123',
    'openai/gpt-4o-mini-2024-07-18:floor',
  ],
  'gpt-oss': ['gpt-oss:120b', 'gpt-oss:120b-cloud'],
  'gpt-oss-120b-1': ['openai.gpt-oss-120b-1:0'],
  'codex-mini-latest': ['codex-mini-latest'],
  'deepseek-v3': ['deepseek-v3', 'deepseek/deepseek-v3:free'],
  'llama-3.3-70b-instruct-fp8-fast': ['@cf/meta/llama-3.3-70b-instruct-fp8-fast'],
  'kimi-k2-instruct-0905': ['moonshotai/Kimi-K2-Instruct-0905:groq'],
  '': ['', 'ft:', 'models/', '@', 'us.'],
};

test('plainModelName finds one name in every spelling of it', () => {
  for (const [plain, spellings] of Object.entries(SPELLINGS)) {
    for (const spelling of spellings) assert.equal(plainModelName(spelling), plain, spelling);
  }
});

test('plainModelName of a plain name is that name', () => {
  for (const plain of Object.keys(SPELLINGS)) assert.equal(plainModelName(plain), plain);
});

test('plainModelName takes time linear in the length of a name', { timeout: 60_000 }, () => {
  for (const unit of ['a.', '-v1', '-2', '/', ':', '@', '-', 'ft:', 'a-']) plainModelName(unit.repeat(2_000_000));
});
