/** What the programs share: an order a line on stdin, what became of it a line on stdout. */

import { createInterface } from 'node:readline';

/** Told apart from whatever a package prints. */
const MARK = '@@';

export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
export const SCHEMAS = {
  weather: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  clock: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'], additionalProperties: false },
};
export const TOOL_NAMES = ['weather', 'clock'];
export const ROUNDS_MAX = 6;

/** What a tool answers. */
export function result(name) {
  return `${name} 14`;
}

/** Carries orders out until stdin ends. An order that fails is answered with what was raised. */
export async function serve(operations) {
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    let answer;
    try {
      answer = await operations[order.operation](order);
    } catch (error) {
      answer = { error: described(error) };
    }
    process.stdout.write(`${MARK}${JSON.stringify(answer)}\n`);
  }
}

function described(error) {
  const classes = [];
  for (let at = error; at !== null && typeof at === 'object'; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, 'constructor')) classes.push(at.constructor.name);
  }
  if (typeof error?.name === 'string') classes.push(error.name);
  return { classes, status: error?.status ?? error?.statusCode ?? null, message: String(error?.message ?? error) };
}
