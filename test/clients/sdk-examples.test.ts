/**
 * The README's examples of existing SDKs, run with stand-ins for the packages: each takes the options that the example
 * gives and sends the request that the package sends by default, to the path that it adds to its base URL.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { blocksOf, readPage } from '../readme.ts';
import { startGateway, TOKEN } from '../running-gateway.ts';

const [, SECTION = ''] = /\n## Existing SDKs\n([^]*?)\n## /.exec(readPage('README.md')) ?? [];

const PYTHON_COMMON = `
import json, types, urllib.request

def post(url, headers, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return json.load(response, object_hook=lambda fields: types.SimpleNamespace(**fields))
`;

/** What the packages have in place of their own files. */
const STAND_INS: Readonly<Record<string, string>> = {
  'common_stand_in.py': PYTHON_COMMON,
  'openai.py': `
import types
from common_stand_in import post

class OpenAI:
    def __init__(self, *, base_url, api_key):
        create = lambda **body: post(base_url + "/chat/completions", {"Authorization": "Bearer " + api_key}, body)
        self.chat = types.SimpleNamespace(completions=types.SimpleNamespace(create=create))
`,
  'anthropic.py': `
import types
from common_stand_in import post

class Anthropic:
    def __init__(self, *, base_url, api_key):
        headers = {"Authorization": "Bearer " + api_key, "anthropic-version": "2026-10-21"}
        self.messages = types.SimpleNamespace(create=lambda **body: post(base_url + "/v1/messages", headers, body))
`,
  'langchain_anthropic.py': `
import types
from common_stand_in import post

class ChatAnthropic:
    def __init__(self, *, model, base_url, api_key):
        self.url, self.model = base_url + "/v1/messages", model
        self.headers = {"Authorization": "Bearer " + api_key, "anthropic-version": "2026-10-21"}

    def invoke(self, prompt):
        body = {"model": self.model, "max_tokens": 1024, "messages": [{"role": "user", "content": prompt}]}
        return types.SimpleNamespace(text=post(self.url, self.headers, body).content[0].text)
`,
  'node_modules/@ai-sdk/openai-compatible/package.json': '{"exports": "./index.mjs"}',
  'node_modules/@ai-sdk/openai-compatible/index.mjs': `
export const createOpenAICompatible = ({ baseURL, apiKey }) => (model) => async (prompt) => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: prompt }] });
  const headers = { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' };
  return (await fetch(baseURL + '/chat/completions', { method: 'POST', headers, body })).json();
};
`,
  'node_modules/ai/package.json': '{"exports": "./index.mjs"}',
  'node_modules/ai/index.mjs': `
export const generateText = async ({ model, prompt }) => ({ text: (await model(prompt)).choices[0].message.content });
`,
  'bin/claude': `#!/bin/sh
[ "$1" = --model ] && [ "$3" = --print ] && [ -n "$ANTHROPIC_DEFAULT_HAIKU_MODEL" ] || exit 1
for model in "$2" "$ANTHROPIC_DEFAULT_HAIKU_MODEL"; do
  curl --silent --show-error --fail "$ANTHROPIC_BASE_URL/v1/messages?beta=true" --header "Authorization: Bearer $ANTHROPIC_AUTH_TOKEN" \\
    --header 'anthropic-version: 2023-06-01' --data '{"model": "'"$model"'", "max_tokens": 32000, "thinking": {"type": "adaptive"},
      "output_config": {"effort": "high"}, "metadata": {"user_id": "{}"}, "messages": [{"role": "user", "content": "'"$4"'"}]}'
done
`,
  'bin/codex': `#!/bin/sh
[ "$1" = exec ] && shift
while [ $# -gt 1 ]; do
  case $1 in
    --model) model=$2 ;;
    --config) case $2 in
      model_provider=*) provider=\${2#*=} ;;
      model_providers."$provider".base_url=*) url=\${2#*=} ;;
      model_providers."$provider".env_key=*) key=\${2#*=} ;;
      model_providers."$provider".wire_api=responses | model_providers."$provider".name=*) ;;
      *) exit 1 ;;
    esac ;;
    *) exit 1 ;;
  esac
  shift 2
done
curl --silent --show-error --fail "$url/responses" --header "Authorization: Bearer $(printenv "$key")" --data '{"model": "'"$model"'", "store": false,
  "include": ["reasoning.encrypted_content"], "parallel_tool_calls": true, "tool_choice": "auto", "reasoning": {"summary": "auto"},
  "tools": [{"type": "web_search"}], "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "'"$1"'"}]}]}'
`,
};

const RUNNERS: readonly { readonly language: string; readonly tool: string; readonly file: string; readonly answers: number }[] = [
  { language: 'python', tool: 'python3', file: 'example.py', answers: 3 },
  { language: 'ts', tool: process.execPath, file: 'example.mjs', answers: 1 },
  { language: 'sh', tool: 'sh', file: 'example.sh', answers: 3 },
];

/** A folder with the stand-ins and the example, removed after the test. */
function makeFolder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sdks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    if (path.startsWith('bin/')) chmodSync(file, 0o755);
  }
  return folder;
}

test('the section on existing SDKs has one example in each language', () => {
  assert.deepEqual(blocksOf(SECTION).map(({ language }) => language), RUNNERS.map(({ language }) => language));
});

for (const { language, tool, file, answers } of RUNNERS) {
  const needed = language === 'sh' ? 'curl' : tool;
  const skip = spawnSync(needed, ['--version']).status === 0 ? false : `no ${needed} here`;
  test(`the base URLs and model names for SDKs in ${language} reach their providers`, { skip }, async (t) => {
    const gateway = await startGateway(t);
    const example = blocksOf(SECTION).find((block) => block.language === language)?.text ?? '';
    const folder = makeFolder(t, { ...STAND_INS, [file]: example });
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`, GATEWAY: gateway.url, TOKEN };
    const child = spawn(tool, [join(folder, file)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (out += more));
    child.stderr.setEncoding('utf8').on('data', (more: string) => (err += more));
    const code = await new Promise((resolve) => child.on('close', resolve));
    assert.equal(code, 0, err);
    // The fake provider quotes what it was asked.
    assert.equal(out.split('You wrote: Hello').length - 1, answers, out);
  });
}
