/**
 * The floors: what a proxy on node:http costs that does nothing else. `floor.mjs UPSTREAM_PORT [translating]` prints its port.
 *
 * The bare one copies bytes. The translating one parses and writes all JSON once in each direction, a stream frame by frame,
 * as whoever changes anything in it has to. Neither checks, limits, counts or logs anything. Plain JavaScript, so that it
 * starts as the built gateway does.
 */

import { Agent, createServer, request as sendRequest } from 'node:http';

const [, , port, kind] = process.argv;
const isTranslating = kind === 'translating';
const agent = new Agent({ keepAlive: true, scheduling: 'lifo' });

const server = createServer((incoming, response) => {
  if (incoming.url === '/healthz') {
    response.end('ok');
    return;
  }
  const chunks = [];
  incoming.on('data', (chunk) => chunks.push(chunk));
  incoming.on('end', () => {
    const received = Buffer.concat(chunks);
    const body = isTranslating ? translated(received.toString()) : received;
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = sendRequest({ host: '127.0.0.1', port, method: 'POST', path: incoming.url, agent, headers }, (answer) => {
      const type = answer.headers['content-type'];
      response.on('close', () => answer.destroy());
      if (!isTranslating) copy(answer, response, type);
      else if (type === 'text/event-stream') translateStream(answer, response, type);
      else translateBody(answer, response, type);
    });
    outgoing.end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));

function copy(answer, response, type) {
  response.writeHead(answer.statusCode, { 'content-type': type });
  answer.on('data', (chunk) => response.write(chunk));
  answer.on('end', () => response.end());
}

function translateBody(answer, response, type) {
  let text = '';
  answer.setEncoding('utf8').on('data', (more) => (text += more));
  answer.on('end', () => {
    const body = translated(text);
    response.writeHead(answer.statusCode, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
}

function translateStream(answer, response, type) {
  response.writeHead(answer.statusCode, { 'content-type': type });
  let rest = '';
  answer.setEncoding('utf8').on('data', (text) => {
    rest += text;
    let out = '';
    let from = 0;
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n', from)) {
      const json = rest.indexOf('data: ', from) + 6;
      out += rest.slice(from, json) + (rest[json] === '{' ? translated(rest.slice(json, end)) : rest.slice(json, end)) + '\n\n';
      from = end + 2;
    }
    rest = rest.slice(from);
    if (out !== '') response.write(out);
  });
  answer.on('end', () => response.end());
}

function translated(text) {
  return JSON.stringify(JSON.parse(text));
}
