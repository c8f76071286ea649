// What a program does that has the package installed: exports one round of it, and prints that round when it is run itself.

import { createServer } from 'node:http';
import { isMainThread, parentPort } from 'node:worker_threads';
import { createGateway, GatewayError, optionsFrom } from 'chat-completion-gateway';

const TOKEN = 'a-token-of-the-program';
const REPLY = { id: 'c1', model: 'm1', choices: [{ index: 0, message: { role: 'assistant', content: 'Good.' }, finish_reason: 'stop' }] };
const CHUNK = { id: 'c1', model: 'm1', choices: [{ index: 0, delta: { content: 'Good.' }, finish_reason: 'stop' }] };

async function listening(listener) {
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** Everything that a library does, with an upstream of its own. */
export async function round(library = { createGateway, GatewayError, optionsFrom }) {
  const upstream = await listening(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (!body.includes('"stream":true')) return response.end(JSON.stringify(REPLY));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n`);
  });
  const gateway = library.createGateway(library.optionsFrom({ GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_COMPAT_BASE_URL: upstream.url, GATEWAY_DRAIN_DELAY: '0' }));
  const host = await listening(gateway.handler);
  const request = { model: 'm1', messages: [{ role: 'user', text: 'x' }] };
  const events = [];
  for await (const event of gateway.stream(request)) events.push(event.type);
  const overHttp = (url) => fetch(`${url}/v1/chat`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: JSON.stringify(request) });
  const result = {
    text: (await gateway.chat(request)).text,
    events,
    refused: await gateway.chat({ ...request, colour: 1 }).catch((error) => error instanceof library.GatewayError && error.message),
    mounted: (await overHttp(host.url)).status,
    listening: (await overHttp(await gateway.listen('127.0.0.1:0'))).status,
    version: /gateway_build_info\{version="([^"]*)"/.exec(gateway.metricsText())?.[1],
    drained: await gateway.drain(),
  };
  for (const { server } of [upstream, host]) {
    server.closeAllConnections();
    server.close();
  }
  return result;
}

if (!isMainThread) parentPort.postMessage(await round());
else if (process.argv[2] === 'alone') console.log(JSON.stringify(await round()));
