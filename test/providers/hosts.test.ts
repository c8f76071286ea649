import { test } from 'node:test';
import assert from 'node:assert/strict';
import { REQUEST_FEATURES } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import { HOST_ROWS, compatRow } from '../../src/providers/hosts.ts';
import { OPENAI_ROW } from '../../src/providers/openai/adapter.ts';
import { adapterOf, payload, requestOf } from './openai-chat/setup.ts';

const ROWS = [OPENAI_ROW, ...HOST_ROWS, compatRow('compat')];

test('each host has its name, variables and address', () => {
  assert.deepEqual(
    ROWS.map(({ name, keyVariables, baseUrlVariable, defaultBaseUrl }) => [name, ...keyVariables, baseUrlVariable, defaultBaseUrl]),
    [
      ['openai', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'https://api.openai.com/v1'],
      ['azure', 'AZURE_OPENAI_API_KEY', 'AZURE_OPENAI_BASE_URL', undefined],
      ['cerebras', 'CEREBRAS_API_KEY', 'CEREBRAS_BASE_URL', 'https://api.cerebras.ai/v1'],
      ['deepseek', 'DEEPSEEK_API_KEY', 'DEEPSEEK_BASE_URL', 'https://api.deepseek.com'],
      ['fireworks', 'FIREWORKS_API_KEY', 'FIREWORKS_BASE_URL', 'https://api.fireworks.ai/inference/v1'],
      ['groq', 'GROQ_API_KEY', 'GROQ_BASE_URL', 'https://api.groq.com/openai/v1'],
      ['huggingface', 'HF_TOKEN', 'HF_BASE_URL', 'https://router.huggingface.co/v1'],
      ['llamacpp', 'LLAMACPP_API_KEY', 'LLAMACPP_BASE_URL', 'http://localhost:8080/v1'],
      ['mistral', 'MISTRAL_API_KEY', 'MISTRAL_BASE_URL', 'https://api.mistral.ai/v1'],
      ['moonshot', 'MOONSHOT_API_KEY', 'MOONSHOT_BASE_URL', 'https://api.moonshot.ai/v1'],
      ['nvidia', 'NVIDIA_API_KEY', 'NVIDIA_BASE_URL', 'https://integrate.api.nvidia.com/v1'],
      ['ollama', 'OLLAMA_API_KEY', 'OLLAMA_BASE_URL', 'http://localhost:11434/v1'],
      ['openrouter', 'OPENROUTER_API_KEY', 'OPENROUTER_BASE_URL', 'https://openrouter.ai/api/v1'],
      ['perplexity', 'PERPLEXITY_API_KEY', 'PERPLEXITY_BASE_URL', 'https://api.perplexity.ai'],
      ['together', 'TOGETHER_API_KEY', 'TOGETHER_BASE_URL', 'https://api.together.ai/v1'],
      ['vercel', 'AI_GATEWAY_API_KEY', 'AI_GATEWAY_BASE_URL', 'https://ai-gateway.vercel.sh/v1'],
      ['vllm', 'VLLM_API_KEY', 'VLLM_BASE_URL', 'http://localhost:8000/v1'],
      ['xai', 'XAI_API_KEY', 'XAI_BASE_URL', 'https://api.x.ai/v1'],
      ['zai', 'ZAI_API_KEY', 'ZAI_BASE_URL', 'https://api.z.ai/api/paas/v4'],
      ['compat', 'GATEWAY_COMPAT_API_KEY', 'GATEWAY_COMPAT_BASE_URL', undefined],
    ],
  );
});

test('only servers of the operator\'s own work without a key', () => {
  assert.deepEqual(ROWS.filter((row) => !row.isKeyRequired).map((row) => row.name), ['llamacpp', 'ollama', 'vllm', 'compat']);
});

test('keys travel as a bearer token, to Azure in api-key', () => {
  for (const { name, keyHeader } of ROWS) {
    assert.deepEqual(keyHeader, name === 'azure' ? { name: 'api-key', prefix: '' } : { name: 'authorization', prefix: 'Bearer ' });
  }
});

test('no address gets a version added, names and variables come once', () => {
  assert.ok(ROWS.every((row) => row.versionSegment === undefined));
  assert.equal(new Set(ROWS.map((row) => row.name)).size, ROWS.length);
  assert.equal(new Set(ROWS.flatMap((row) => [...row.keyVariables, row.baseUrlVariable, row.structuredOutputVariable ?? ''])).size, 3 * ROWS.length);
  assert.ok(ROWS.every((row) => /^[a-z0-9_-]{1,64}$/.test(row.name)));
});

test('the operator\'s own host has the name that the operator gave it', () => {
  const row = compatRow('lab');
  assert.equal(row.name, 'lab');
  assert.match(row.createAdapter('lab').decodeFailure(500, '').message, /^lab failed on its side/);
});

const NO_OUTPUT = ['output', 'output.schema', 'output.strict false', 'tools strict'];
const NO_PDF = ['user document (pdf inline)', 'user document (pdf url)', 'tool_result document'];
/** What each host is not asked. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  openai: ['user document (pdf url)'],
  cerebras: NO_PDF,
  deepseek: ['output.schema', 'output.strict false', 'tools strict', 'tool_choice.parallel false', ...NO_PDF],
  fireworks: ['tools strict', 'tool_choice.parallel false', ...NO_PDF],
  groq: ['output.strict false', ...NO_PDF],
  huggingface: [...NO_OUTPUT, 'tool_choice.parallel false', ...NO_PDF],
  llamacpp: ['tools strict', ...NO_PDF],
  mistral: ['tool_result image', 'tool_result document'],
  moonshot: ['output.schema', 'output.strict false', 'tools strict', 'tool_choice.parallel false', ...NO_PDF],
  nvidia: [...NO_OUTPUT, 'tool_choice.parallel false', ...NO_PDF],
  ollama: ['tools strict', 'tool_choice.parallel false', ...NO_PDF],
  openrouter: ['tools strict'],
  perplexity: [...NO_OUTPUT, 'tool_choice.parallel false', ...NO_PDF],
  together: NO_PDF,
  vercel: [...NO_OUTPUT, 'tool_choice.parallel false', ...NO_PDF],
  vllm: ['tools strict', ...NO_PDF],
  xai: NO_PDF,
  zai: [...NO_OUTPUT, 'tool_choice.parallel false', ...NO_PDF],
  compat: ['user document (pdf url)'],
};

test('every host\'s matrix has a word for every feature, and refuses only what it is not known to do', () => {
  for (const { name } of ROWS) {
    const { support } = adapterOf(name);
    assert.deepEqual(Object.keys(support).sort(), [...REQUEST_FEATURES].sort());
    for (const feature of REQUEST_FEATURES) {
      assert.ok(support[feature].as.length > 3 && !support[feature].as.includes('undefined'), `${name} ${feature}`);
    }
    assert.deepEqual(REQUEST_FEATURES.filter((feature) => support[feature].is === 'refused').sort(), [...(REFUSED[name] ?? [])].sort(), name);
  }
});

test('each host is told who asks, and which beginning to keep, in the field that it has', () => {
  const fieldsOf = (name: string): unknown => {
    const { user, cache } = adapterOf(name).support;
    return [user.is === 'ignored' ? '' : user.as, cache.is === 'ignored' ? '' : cache.as];
  };
  const told: Readonly<Record<string, readonly [string, string]>> = {
    openai: ['`safety_identifier`', '`prompt_cache_key`'],
    azure: ['`user`', '`prompt_cache_key`'],
    cerebras: ['`user`', '`prompt_cache_key`'],
    deepseek: ['`user_id`', ''],
    fireworks: ['', '`prompt_cache_key`'],
    groq: ['`user`', ''],
    mistral: ['', '`prompt_cache_key`'],
    openrouter: ['`user`', ''],
    together: ['', '`prompt_cache_key`'],
    xai: ['`user`', '`x-grok-conv-id`'],
  };
  for (const { name } of ROWS) assert.deepEqual(fieldsOf(name), told[name] ?? ['', ''], name);
});

test('what an operator says of a host\'s answers replaces what is known of them', () => {
  const stands = (name: string, structuredOutput: 'schema' | 'json_object' | 'none'): string => {
    const row = ROWS.find((candidate) => candidate.name === name);
    const support = row?.createAdapter(name, { openAiApi: 'auto', structuredOutput }).support;
    return NO_OUTPUT.map((feature) => support?.[feature as 'output'].is).join(' ');
  };
  for (const name of ['groq', 'deepseek', 'perplexity', 'compat']) {
    assert.equal(stands(name, 'schema'), 'sent sent sent sent', name);
    assert.equal(stands(name, 'json_object'), 'sent refused refused refused', name);
    assert.equal(stands(name, 'none'), 'refused refused refused refused', name);
  }
  assert.deepEqual(ROWS.map((row) => row.structuredOutputVariable?.replace(/_STRUCTURED_OUTPUT$/, '_BASE_URL')), ROWS.map((row) => (row.name === 'openai' ? undefined : row.baseUrlVariable)));
});

test('the matrix says what is translated', () => {
  const openai = adapterOf('openai').support;
  assert.deepEqual(openai['thinking.effort max'], { is: 'translated', as: '`reasoning_effort: xhigh`; older models: the nearest they take, nothing before reasoning models' });
  assert.deepEqual(openai['tool_result.is_error'], { is: 'translated', as: '`Error: ` before the content' });
  assert.equal(openai['assistant provider_state'].as, 'nothing has to travel');
  assert.equal(adapterOf('llamacpp').support['tool_choice tool'].is, 'translated');
  assert.equal(adapterOf('compat').support['assistant provider_state'].as, "`reasoning_content` of turns with calls, `reasoning_details`, a call's `thought_signature`");
  assert.equal(adapterOf('deepseek').support['thinking off'].as, '`thinking.type: disabled`');
});

test('the matrix is true of effort: a level that is sent goes out under its own name', () => {
  for (const { name } of ROWS) {
    const { support } = adapterOf(name);
    for (const effort of ['low', 'medium', 'high', 'max'] as const) {
      const sent = JSON.stringify(payload(adapterOf(name), requestOf({ model: 'm', thinking: { enabled: true, effort } })));
      const isSent = support[`thinking.effort ${effort}`].is === 'sent';
      if (name === 'together') continue;
      assert.equal(sent.includes(`"${effort}"`), isSent, `${name} ${effort}`);
    }
  }
});

test('the list of models is one GET', () => {
  assert.deepEqual(adapterOf('openai').encodeModels(undefined), { method: 'GET', path: '/models', headers: { accept: 'application/json' }, body: undefined });
});

const modelsOf = (body: unknown) => {
  const page = adapterOf('openai').decodeModels(JSON.stringify(body));
  assert.ok(!(page instanceof Failure));
  assert.equal(page.nextCursor, undefined);
  return page.models.map(({ id, displayName, contextWindow, outputTokensMax }) => [id, displayName, contextWindow, outputTokensMax]);
};

test('a list of no models may be null', () => {
  assert.deepEqual(modelsOf({ object: 'list', data: null }), []);
  assert.ok(adapterOf('openai').decodeModels('{"data":null}') instanceof Failure);
});

test('models are read with whatever a host tells of them', () => {
  assert.deepEqual(
    modelsOf({
      object: 'list',
      data: [
        { id: 'gpt-5', object: 'model', owned_by: 'openai' },
        { id: 'a/b', name: 'A: B', context_length: 1000, top_provider: { max_completion_tokens: 100 } },
        { id: 'v', max_model_len: 2000 },
        { id: 'g', context_window: 3000, max_completion_tokens: 300 },
        { id: 'm', max_context_length: 4000, display_name: 'M' },
        { name: 'no id' },
        null,
      ],
    }),
    [['gpt-5', undefined, undefined, undefined], ['a/b', 'A: B', 1000, 100], ['v', undefined, 2000, undefined], ['g', undefined, 3000, 300], ['m', 'M', 4000, undefined]],
  );
});

test('what a model takes, and when it is deprecated, is read where a host says it', () => {
  const page = adapterOf('mistral').decodeModels(JSON.stringify({
    data: [
      { id: 'r', architecture: { input_modalities: ['text', 'image', 'file', 7] } },
      { id: 's', capabilities: { vision: true }, deprecation: '2026-12-01T00:00:00Z' },
      { id: 't', capabilities: { vision: false }, deprecation: null },
      { id: 'u', architecture: { input_modalities: [] }, capabilities: {} },
    ],
  }));
  assert.ok(!(page instanceof Failure));
  assert.deepEqual(page.models.map(({ id, input, deprecatedAt }) => [id, input, deprecatedAt]), [
    ['r', ['text', 'image', 'pdf'], undefined],
    ['s', ['text', 'image'], '2026-12-01T00:00:00Z'],
    ['t', ['text'], undefined],
    ['u', undefined, undefined],
  ]);
});

test('a bare list of models is a list of models', () => {
  assert.deepEqual(modelsOf([{ id: 'x' }]), [['x', undefined, undefined, undefined]]);
});

test('a body without models is a failure', () => {
  for (const [body, kind] of [['', 'server'], ['{}', 'server'], ['null', 'server'], ['{"data":{}}', 'server'], ['{"error":{"code":401}}', 'auth']] as const) {
    const failure = adapterOf('openai').decodeModels(body);
    assert.ok(failure instanceof Failure, body);
    assert.equal(failure.kind, kind);
  }
});
