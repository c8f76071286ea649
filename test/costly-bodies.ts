/** Request bodies that cost as much as their size allows, by name, in every format of callers. Valid JSON to the last byte, most of them. */

/** Who is asked. */
export type Asked = { readonly provider: string; readonly model: string };

/** How a format says what the bodies are made of. Texts, values and turns are JSON already. */
export type CallerFormat = {
  readonly path: string;
  /** `more` are whole members, each with a comma behind it. */
  body(asked: Asked, turns: readonly string[], more?: string): string;
  turn(role: 'user' | 'assistant', text: string): string;
  image(base64: string): string;
  /** A member in which any JSON may stand. */
  anywhere(value: string): string;
  tools(schemas: readonly string[]): string;
  /** A turn that calls the first tool with these arguments, and the turns that answer. */
  calls(args: readonly string[]): readonly string[];
};

const NATIVE: CallerFormat = {
  path: '/v1/chat',
  body: ({ provider, model }, turns, more = '') => `{"provider":"${provider}","model":"${model}",${more}"messages":[${turns.join()}]}`,
  turn: (role, text) => `{"role":"${role}","text":${text}}`,
  image: (base64) => `{"role":"user","content":[{"type":"image","media_type":"image/png","data":"${base64}"}]}`,
  anywhere: (value) => `"provider_options":{"metadata":${value}},`,
  tools: (schemas) => `"tools":[${schemas.map((schema, i) => `{"name":"f${i}","parameters":${schema}}`).join()}],`,
  calls: (args) => [
    `{"role":"assistant","content":[${args.map((text, i) => `{"type":"tool_call","id":"c${i}","name":"f0","arguments":${text}}`).join()}]}`,
    `{"role":"tool","content":[${args.map((_, i) => `{"type":"tool_result","tool_call_id":"c${i}","content":"${i}"}`).join()}]}`,
  ],
};

const CHAT: CallerFormat = {
  path: '/v1/chat/completions',
  body: ({ provider, model }, turns, more = '') => `{"model":"${provider}/${model}",${more}"messages":[${turns.join()}]}`,
  turn: (role, text) => `{"role":"${role}","content":${text}}`,
  image: (base64) => `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${base64}"}}]}`,
  anywhere: (value) => CHAT.tools([`{"type":"object","x":${value}}`]),
  tools: (schemas) => `"tools":[${schemas.map((schema, i) => `{"type":"function","function":{"name":"f${i}","parameters":${schema}}}`).join()}],`,
  calls: (args) => [
    `{"role":"assistant","content":null,"tool_calls":[${args.map((text, i) => `{"id":"c${i}","type":"function","function":{"name":"f0","arguments":${JSON.stringify(text)}}}`).join()}]}`,
    ...args.map((_, i) => `{"role":"tool","tool_call_id":"c${i}","content":"${i}"}`),
  ],
};

const RESPONSES: CallerFormat = {
  path: '/v1/responses',
  body: ({ provider, model }, turns, more = '') => `{"model":"${provider}/${model}","store":false,${more}"input":[${turns.join()}]}`,
  turn: CHAT.turn,
  image: (base64) => `{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,${base64}"}]}`,
  anywhere: (value) => RESPONSES.tools([`{"type":"object","x":${value}}`]),
  tools: (schemas) => `"tools":[${schemas.map((schema, i) => `{"type":"function","name":"f${i}","strict":false,"parameters":${schema}}`).join()}],`,
  calls: (args) => [
    ...args.map((text, i) => `{"type":"function_call","call_id":"c${i}","name":"f0","arguments":${JSON.stringify(text)}}`),
    ...args.map((_, i) => `{"type":"function_call_output","call_id":"c${i}","output":"${i}"}`),
  ],
};

const MESSAGES: CallerFormat = {
  path: '/v1/messages',
  body: ({ provider, model }, turns, more = '') => `{"model":"${provider}/${model}","max_tokens":1024,${more}"messages":[${turns.join()}]}`,
  turn: CHAT.turn,
  image: (base64) => `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${base64}"}}]}`,
  anywhere: (value) => MESSAGES.tools([`{"type":"object","x":${value}}`]),
  tools: (schemas) => `"tools":[${schemas.map((schema, i) => `{"name":"f${i}","input_schema":${schema}}`).join()}],`,
  calls: (args) => [
    `{"role":"assistant","content":[${args.map((text, i) => `{"type":"tool_use","id":"c${i}","name":"f0","input":${text}}`).join()}]}`,
    `{"role":"user","content":[${args.map((_, i) => `{"type":"tool_result","tool_use_id":"c${i}","content":"${i}"}`).join()}]}`,
  ],
};

export const CALLER_FORMATS = { native: NATIVE, chat: CHAT, responses: RESPONSES, messages: MESSAGES } as const;

type BodyFunction = (format: CallerFormat, asked: Asked, bytes: number) => Buffer;

/** Each takes the size to fill. */
export const COSTLY_BODIES: Readonly<Record<string, BodyFunction>> = {
  'nested arrays': (_format, _asked, bytes) => Buffer.alloc(bytes, '['),
  'nested arrays, closed': (_format, _asked, bytes) => Buffer.from('['.repeat(bytes / 2) + ']'.repeat(bytes / 2)),
  'nested objects': (_format, _asked, bytes) => Buffer.from('{"a":'.repeat(bytes / 5)),
  'empty arrays': anywhere((bytes) => `[${filled(bytes, () => '[],')}0]`),
  'empty objects': anywhere((bytes) => `[${filled(bytes, () => '{},')}0]`),
  'empty strings': anywhere((bytes) => `[${filled(bytes, () => '"",')}0]`),
  'numbers': anywhere((bytes) => `[${filled(bytes, () => '1,')}0]`),
  'tiny keys': anywhere((bytes) => `{${filled(bytes, (i) => `"${i.toString(36)}":0,`)}"":0}`),
  'one key again and again': anywhere((bytes) => `{${filled(bytes, () => '"a":0,')}"":0}`),
  'integer-like keys': anywhere((bytes) => `{${filled(bytes, (i) => `"${i * 64}":0,`)}"":0}`),
  'most values allowed': anywhere((bytes) => `[${filled(bytes, (i) => (i < 95_000 ? '{},' : ' '))}0]`),
  'most values allowed, spaced': anywhere((bytes) => `[${filled(bytes, (i) => (i < 95_000 ? `[${' '.repeat(bytes / 97_000 - 3)}],` : ' '))}0]`),
  'most keys allowed': anywhere((bytes) => `{${filled(bytes, (i) => (i < 48_000 ? `"${i}":0,` : ' '))}"":0}`),
  'most small objects allowed': anywhere((bytes) => `[${filled(bytes, (i) => (i < 31_000 ? '{"a":"b"},' : ' '))}0]`),
  'long keys': anywhere((bytes) => `{${filled(bytes, (i) => `"${String(i).padStart(340, 'k')}":0,`)}"":0}`),
  'long numbers': anywhere((bytes) => `[${filled(bytes, () => `${'1234567890'.repeat(20)},`)}0]`),
  'one number': anywhere((bytes) => '1'.repeat(bytes - 400)),
  'white space': (format, asked, bytes) => Buffer.from(format.body(asked, [format.turn('user', '"x"')], ' '.repeat(bytes - 400))),
  'one string': text((bytes) => 'x'.repeat(bytes)),
  'one string of quotes': text((bytes) => '\\"'.repeat(bytes / 2)),
  'one string of backslashes': text((bytes) => '\\\\'.repeat(bytes / 2)),
  'one two-byte string': text((bytes) => 'é'.repeat(bytes / 2)),
  'one three-byte string': text((bytes) => '語'.repeat(bytes / 3)),
  'one emoji string': text((bytes) => '😀'.repeat(bytes / 4)),
  'one string with an emoji at its end': text((bytes) => `${'x'.repeat(bytes - 4)}😀`),
  'one escaped string': text((bytes) => 'a\\n'.repeat(bytes / 3)),
  'one string of \\u escapes': text((bytes) => '\\u00e9'.repeat(bytes / 6)),
  'one string of escaped letters': text((bytes) => '\\u0041'.repeat(bytes / 6)),
  'one string of escaped emoji': text((bytes) => '\\ud83d\\ude00'.repeat(bytes / 12)),
  'one string of \\u0001': text((bytes) => '\\u0001'.repeat(bytes / 6)),
  'one string of lone surrogates': text((bytes) => '\\ud800'.repeat(bytes / 6)),
  'a last bad escape': text((bytes) => `${'\\n'.repeat(bytes / 2 - 1)}\\x`),
  'a last backslash': text((bytes) => `${'x'.repeat(bytes - 1)}\\`),
  'invalid UTF-8 at the end': (_format, _asked, bytes) => Buffer.concat([Buffer.alloc(bytes - 2, ' '), Buffer.from([0xc3, 0x28])]),
  'an inline image': (format, asked, bytes) => Buffer.from(format.body(asked, [format.image('imag'.repeat((bytes - 400) / 4))])),
  '200 turns': conversation(200, (bytes) => 'Some words. '.repeat(bytes / 200 / 12 - 10)),
  '10,000 turns': conversation(10_000, () => 'Some words of a usual length.'),
  'most turns allowed': conversation(19_000, () => 'm'),
  'most tool calls allowed': (format, asked) => Buffer.from(called(format, asked, Array.from({ length: 5_000 }, (_, i) => `{"n":${i}}`))),
  'one large call': (format, asked, bytes) => Buffer.from(called(format, asked, [`{"text":"${'x'.repeat(bytes - 500)}"}`])),
  '200 tools': tools(200, () => `{"type":"object","properties":{${Array.from({ length: 60 }, (_, i) => `"field${i}":{"type":"string","description":"What it is for."}`).join()}}}`),
  'most tools allowed': tools(9_000, () => '{"type":"object"}'),
};

/** A good chat with the value somewhere deep in it, where any JSON is allowed. */
function anywhere(value: (bytes: number) => string): BodyFunction {
  return (format, asked, bytes) => Buffer.from(format.body(asked, [format.turn('user', '"x"')], format.anywhere(value(bytes))));
}

/** A good chat with one text, between quotes. */
function text(inner: (bytes: number) => string): BodyFunction {
  return (format, asked, bytes) => Buffer.from(format.body(asked, [format.turn('user', `"${inner(bytes - 400)}"`)]));
}

function conversation(turns: number, words: (bytes: number) => string): BodyFunction {
  return (format, asked, bytes) => {
    const said = Array.from({ length: turns }, (_, i) => format.turn(i % 2 === 0 ? 'user' : 'assistant', `"${words(bytes)} ${i}"`));
    return Buffer.from(format.body(asked, [...said, format.turn('user', '"x"')]));
  };
}

function tools(count: number, schema: () => string): BodyFunction {
  return (format, asked) => Buffer.from(format.body(asked, [format.turn('user', '"x"')], format.tools(Array.from({ length: count }, schema))));
}

function called(format: CallerFormat, asked: Asked, args: readonly string[]): string {
  return format.body(asked, [format.turn('user', '"x"'), ...format.calls(args)], format.tools(['{"type":"object"}']));
}

/** Pieces one after the other up to a size that leaves room for what stands around them. */
function filled(bytes: number, piece: (index: number) => string): string {
  const pieces: string[] = [];
  for (let length = 0, i = 0; length < bytes - 600; i += 1) {
    const text = piece(i);
    pieces.push(text);
    length += text.length;
  }
  return pieces.join('');
}
