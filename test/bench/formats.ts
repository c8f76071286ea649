/** What a provider says in each format: a whole answer, and the frames of a stream, with the fields that its vendor sends. */

const WORDS = 'A short answer of some words, as most are.';
const USAGE = { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21, prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 } };

export type Format = {
  readonly whole: string;
  readonly begin: string;
  readonly token: string;
  readonly end: string;
  /** Of a stream that is one tool call, its arguments in pieces. Only Chat Completions have them here. */
  readonly beginCall?: string;
  readonly fragment?: string;
  readonly endCall?: string;
};

/** By the last part of their paths. */
export const FORMATS = { completions: completions(), responses: responses(), messages: messages(), generateContent: generateContent() } satisfies Record<string, Format>;

function frame(data: object, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function completions(): Format {
  const head = { id: 'chatcmpl-CaxLmPzUjYwnOY0sgcNrJe3bVvlFi', created: 1750000000, model: 'bench', service_tier: 'default', system_fingerprint: 'fp_560af6e559' };
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
    frame({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...more });
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'save', arguments: '' } };
  return {
    whole: JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: WORDS, refusal: null, annotations: [] }, logprobs: null, finish_reason: 'stop' }],
      usage: USAGE,
    }),
    begin: chunk({ role: 'assistant', content: '', refusal: null }),
    token: chunk({ content: ' word' }),
    end: chunk({}, 'stop') + frame({ ...head, object: 'chat.completion.chunk', choices: [], usage: USAGE }) + 'data: [DONE]\n\n',
    beginCall: chunk({ role: 'assistant', content: null }) + chunk({ tool_calls: [{ ...call, function: { name: 'save', arguments: '{"text":"' } }] }),
    fragment: chunk({ tool_calls: [{ index: 0, function: { arguments: 'words of some length ' } }] }),
    endCall: chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }) + chunk({}, 'tool_calls') + 'data: [DONE]\n\n',
  };
}

function responses(): Format {
  const part = (text: string): object => ({ type: 'output_text', annotations: [], logprobs: [], text });
  const item = (status: string, content: readonly object[]): object => ({ id: 'msg_1', type: 'message', status, role: 'assistant', content });
  const response = (status: string, output: readonly object[], usage: object | null): object => ({ id: 'resp_1', object: 'response', created_at: 1750000000, status, error: null, incomplete_details: null, model: 'bench', output, usage });
  const usage = { input_tokens: 12, input_tokens_details: { cached_tokens: 0 }, output_tokens: 9, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 21 };
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const event = (type: string, more: object): string => frame({ type, sequence_number: 4, ...more }, type);
  return {
    whole: JSON.stringify(response('completed', [item('completed', [part(WORDS)])], usage)),
    begin:
      event('response.created', { response: response('in_progress', [], null) }) +
      event('response.output_item.added', { output_index: 0, item: item('in_progress', []) }) +
      event('response.content_part.added', { ...place, part: part('') }),
    token: event('response.output_text.delta', { ...place, delta: ' word', logprobs: [], obfuscation: 'uFqyZ0eLZHr' }),
    end:
      event('response.output_text.done', { ...place, text: WORDS, logprobs: [] }) +
      event('response.output_item.done', { output_index: 0, item: item('completed', [part(WORDS)]) }) +
      event('response.completed', { response: response('completed', [item('completed', [part(WORDS)])], usage) }),
  };
}

function messages(): Format {
  const usage = { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 9 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'bench', content: [], stop_reason: null, stop_sequence: null, usage };
  const event = (data: { readonly type: string; readonly [key: string]: unknown }): string => frame(data, data.type);
  return {
    whole: JSON.stringify({ ...message, content: [{ type: 'text', text: WORDS }], stop_reason: 'end_turn' }),
    begin: event({ type: 'message_start', message }) + event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    token: event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' word' } }),
    end:
      event({ type: 'content_block_stop', index: 0 }) +
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }) +
      event({ type: 'message_stop' }),
  };
}

/** Whole answers alone. */
function generateContent(): Format {
  const candidate = { content: { parts: [{ text: WORDS }], role: 'model' }, finishReason: 'STOP', index: 0 };
  const usageMetadata = { promptTokenCount: 12, candidatesTokenCount: 9, totalTokenCount: 21 };
  return { whole: JSON.stringify({ candidates: [candidate], usageMetadata, modelVersion: 'bench', responseId: 'resp_1' }), begin: '', token: '', end: '' };
}
