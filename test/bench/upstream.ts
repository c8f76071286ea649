/**
 * The least that an OpenAI-compatible provider can be: constant bytes, so that the time measured is the
 * proxy's. Prints its port. A stream is PIECES frames in one write.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PIECES = 64;

const whole = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'A short answer of some words, as most are.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 },
});

const frame = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const piece = frame({ content: ' word' }, null);
const streamed = frame({ role: 'assistant', content: '' }, null) + piece.repeat(PIECES) + frame({}, 'stop') + 'data: [DONE]\n\n';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(whole) });
      response.end(whole);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(streamed);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
