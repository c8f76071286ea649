/** Request bodies that cost as much as their size allows, by name. Valid JSON to the last byte, most of them. */

type Bodies = Readonly<Record<string, (provider: string, bytes: number) => Buffer>>;

/** Each takes a provider's name and the size to fill. */
export const COSTLY_BODIES: Bodies = {
  'nested arrays': (_provider, bytes) => Buffer.alloc(bytes, '['),
  'nested arrays, closed': (_provider, bytes) => Buffer.from('['.repeat(bytes / 2) + ']'.repeat(bytes / 2)),
  'nested objects': (_provider, bytes) => Buffer.from('{"a":'.repeat(bytes / 5)),
  'empty arrays': (provider, bytes) => inOptions(provider, `[${filled(bytes, () => '[],')}0]`),
  'empty objects': (provider, bytes) => inOptions(provider, `[${filled(bytes, () => '{},')}0]`),
  'numbers': (provider, bytes) => inOptions(provider, `[${filled(bytes, () => '1,')}0]`),
  'tiny keys': (provider, bytes) => inOptions(provider, `{${filled(bytes, (i) => `"${i.toString(36)}":0,`)}"":0}`),
  'integer-like keys': (provider, bytes) => inOptions(provider, `{${filled(bytes, (i) => `"${i * 64}":0,`)}"":0}`),
  'most values allowed': (provider, bytes) => inOptions(provider, `[${filled(bytes, (i) => (i < 95_000 ? '{},' : ' '))}0]`),
  'most keys allowed': (provider, bytes) => inOptions(provider, `{${filled(bytes, (i) => (i < 48_000 ? `"${i}":0,` : ' '))}"":0}`),
  'long keys': (provider, bytes) => inOptions(provider, `{${filled(bytes, (i) => `"${String(i).padStart(200, 'k')}":0,`)}"":0}`),
  'long numbers': (provider, bytes) => inOptions(provider, `[${filled(bytes, () => `${'1234567890'.repeat(10)},`)}0]`),
  'one number': (provider, bytes) => inOptions(provider, '1'.repeat(bytes - 200)),
  'white space': (provider, bytes) => chat(provider, '"x"', ' '.repeat(bytes - 200)),
  'one string': (provider, bytes) => chat(provider, `"${'x'.repeat(bytes - 200)}"`),
  'one two-byte string': (provider, bytes) => chat(provider, `"${'é'.repeat(bytes / 2 - 100)}"`),
  'one three-byte string': (provider, bytes) => chat(provider, `"${'語'.repeat(bytes / 3 - 100)}"`),
  'one emoji string': (provider, bytes) => chat(provider, `"${'😀'.repeat(bytes / 4 - 100)}"`),
  'one escaped string': (provider, bytes) => chat(provider, `"${'a\\n'.repeat(bytes / 3 - 100)}"`),
  'one string of \\u escapes': (provider, bytes) => chat(provider, `"${'\\u00e9'.repeat(bytes / 6 - 100)}"`),
  'one string of \\u0001': (provider, bytes) => chat(provider, `"${'\\u0001'.repeat(bytes / 6 - 100)}"`),
  'a last bad escape': (provider, bytes) => chat(provider, `"${'\\n'.repeat(bytes / 2 - 100)}\\x"`),
  'invalid UTF-8 at the end': (_provider, bytes) => Buffer.concat([Buffer.alloc(bytes - 2, ' '), Buffer.from([0xc3, 0x28])]),
  'an inline image': (provider, bytes) => {
    const data = Buffer.alloc((bytes - 400) * 0.75 - 3, 'image').toString('base64');
    return Buffer.from(`{"provider":"${provider}","model":"fake-chat","messages":[{"role":"user","content":[{"type":"image","media_type":"image/png","data":"${data}"}]}]}`);
  },
  '10,000 messages': (provider) => {
    const turns = Array.from({ length: 10_000 }, (_, i) => `{"role":"${i % 2 === 0 ? 'user' : 'assistant'}","text":"message ${i}"}`);
    return Buffer.from(`{"provider":"${provider}","model":"fake-chat","messages":[${turns.join()},{"role":"user","text":"x"}]}`);
  },
  'most messages allowed': (provider) => {
    const turns = Array.from({ length: 19_000 }, (_, i) => `{"role":"${i % 2 === 0 ? 'user' : 'assistant'}","text":"m"}`);
    return Buffer.from(`{"provider":"${provider}","model":"fake-chat","messages":[${turns.join()},{"role":"user","text":"x"}]}`);
  },
  'most tool calls allowed': (provider) => {
    const calls = Array.from({ length: 5_000 }, (_, i) => `{"type":"tool_call","id":"c${i}","name":"f","arguments":{"n":${i}}}`);
    const results = Array.from({ length: 5_000 }, (_, i) => `{"type":"tool_result","tool_call_id":"c${i}","content":"${i}"}`);
    return Buffer.from(
      `{"provider":"${provider}","model":"fake-chat","tools":[{"name":"f"}],"messages":[{"role":"user","text":"x"},` +
        `{"role":"assistant","content":[${calls.join()}]},{"role":"tool","content":[${results.join()}]}]}`,
    );
  },
};

function chat(provider: string, text: string, padding = ''): Buffer {
  return Buffer.from(`{"provider":"${provider}","model":"fake-chat",${padding}"messages":[{"role":"user","text":${text}}]}`);
}

/** A good chat with the value somewhere deep in it, where any JSON is allowed. */
function inOptions(provider: string, value: string): Buffer {
  return Buffer.from(`{"provider":"${provider}","model":"fake-chat","messages":[{"role":"user","text":"x"}],"provider_options":{"metadata":${value}}}`);
}

/** Pieces one after the other up to a size that leaves room for what stands around them. */
function filled(bytes: number, piece: (index: number) => string): string {
  const pieces: string[] = [];
  for (let length = 0, i = 0; length < bytes - 400; i += 1) {
    const text = piece(i);
    pieces.push(text);
    length += text.length;
  }
  return pieces.join('');
}
