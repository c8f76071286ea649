/** Whole answers of a provider that cost as much as their size allows, by the model that gives them, in every format. */

import { FORMATS } from './formats.ts';

export type FormatName = keyof typeof FORMATS;

const BYTES = 32 * 1024 * 1024 - 64 * 1024;
/** As many calls as a reply may hold, and some values to spare. */
const CALLS = 4096;
const VALUES = 900_000;

type Answer = (format: FormatName) => string;

export const COSTLY_ANSWERS: Readonly<Record<string, Answer>> = {
  'long-text': text('x'.repeat(BYTES)),
  'long-text-in-lines': text('Words of a line\\n'.repeat(BYTES / 17)),
  'long-emoji': text('😀'.repeat(BYTES / 4)),
  'long-call': (format) => withCalls(format, [`{"text":"${'x'.repeat(BYTES / 1.1)}"}`]),
  'many-calls': (format) => withCalls(format, Array.from({ length: CALLS }, (_, i) => `{"n":${i}}`)),
  'many-values': beside(() => `[${'[],'.repeat(VALUES / 2)}0]`),
  'many-keys': beside(() => `{${Array.from({ length: VALUES / 2 }, (_, i) => `"${i}":0`).join()}}`),
  'white-space': beside(() => ' '.repeat(BYTES) + '0'),
};

/** The usual text replaced. */
function text(words: string): Answer {
  return (format) => FORMATS[format].whole.replace(/"(text|content)":"A short[^"]*"/, (_, name: string) => `"${name}":"${words}"`);
}

/** A member that nobody reads beside all others. */
function beside(value: () => string): Answer {
  return (format) => FORMATS[format].whole.replace('{', `{"x":${value()},`);
}

function withCalls(format: FormatName, args: readonly string[]): string {
  const { whole } = FORMATS[format];
  const put = (pattern: RegExp, text: string): string => whole.replace(pattern, () => text);
  switch (format) {
    case 'completions':
      return put(/"content":"[^"]*"/, `"content":null,"tool_calls":[${args.map((text, i) => `{"id":"c${i}","type":"function","function":{"name":"f","arguments":${JSON.stringify(text)}}}`).join()}]`);
    case 'responses':
      return put(/"output":\[.*\](?=,"usage")/, `"output":[${args.map((text, i) => `{"type":"function_call","id":"i${i}","call_id":"c${i}","name":"f","arguments":${JSON.stringify(text)},"status":"completed"}`).join()}]`);
    case 'messages':
      return put(/"content":\[[^\]]*\]/, `"content":[${args.map((text, i) => `{"type":"tool_use","id":"c${i}","name":"f","input":${text}}`).join()}]`);
    case 'generateContent':
      return put(/"parts":\[[^\]]*\]/, `"parts":[${args.map((text) => `{"functionCall":{"name":"f","args":${text}}}`).join()}]`);
  }
}
