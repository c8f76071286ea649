/** What is measured: what callers speak, and who is behind the gateway. */

export type Dialect = 'native' | 'chat' | 'responses' | 'messages';

/** A request as bytes on the wire. */
export type Ask = { readonly path: string; readonly body: string };

export type Row = {
  readonly name: string;
  /** What the caller sends the gateway. */
  readonly toGateway: (model: string, isStream: boolean) => Ask;
  /** What goes to the provider, and so what the floors are sent. */
  readonly toProvider: (model: string, isStream: boolean) => Ask;
};

const WORDS = 'A question of usual length, asked by somebody who waits for the answer.';
const PROVIDER_FORMAT = { compat: 'chat', openai: 'chat', anthropic: 'messages' } as const;

/** A caller that relays names no provider: its dialect's vendor serves it. */
function row(dialect: Dialect, provider: keyof typeof PROVIDER_FORMAT | undefined): Row {
  const format = provider === undefined ? dialect : PROVIDER_FORMAT[provider];
  return {
    name: provider === undefined ? `${dialect}, relayed` : `${dialect} to ${format}`,
    toGateway: (model, isStream) => askIn(dialect, model, isStream, provider),
    toProvider: (model, isStream) => askIn(format, model, isStream, undefined),
  };
}

export const ROWS: readonly Row[] = [
  row('native', 'compat'),
  row('native', 'anthropic'),
  row('chat', undefined),
  row('chat', 'anthropic'),
  row('responses', undefined),
  row('responses', 'compat'),
  row('messages', undefined),
  row('messages', 'compat'),
];

/** The same small chat in each format. */
function askIn(dialect: Dialect, model: string, isStream: boolean, provider: string | undefined): Ask {
  const turns = [{ role: 'user', content: WORDS }];
  const named = { model: provider === undefined ? model : `${provider}/${model}`, stream: isStream };
  switch (dialect) {
    case 'native':
      return {
        path: isStream ? '/v1/chat/stream' : '/v1/chat',
        body: JSON.stringify({ provider, model, messages: [{ role: 'user', text: WORDS }] }),
      };
    case 'chat':
      return { path: '/v1/chat/completions', body: JSON.stringify({ ...named, messages: turns }) };
    case 'responses':
      return { path: '/v1/responses', body: JSON.stringify({ ...named, store: false, input: turns }) };
    case 'messages':
      return { path: '/v1/messages', body: JSON.stringify({ ...named, max_tokens: 1024, messages: turns }) };
  }
}
