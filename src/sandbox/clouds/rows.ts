/**
 * Where the clouds speak which format, who may enter, and in what a request there differs from the vendor's own. What one of them
 * refuses is refused.
 */

import { isObject } from '../../base/loose.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { ANTHROPIC } from '../anthropic/protocol.ts';
import type { ProtocolName } from '../calls.ts';
import { GEMINI } from '../gemini/protocol.ts';
import { OPENAI } from '../openai-chat/protocol.ts';
import { RESPONSES } from '../openai-responses/protocol.ts';
import { Complaint, decodedPath } from '../protocol.ts';
import type { Incoming, Protocol } from '../protocol.ts';
import { guardAws, guardAzure, guardGoogle } from './guards.ts';
import type { Guard } from './guards.ts';
import { awsComplaint, INVOKE } from './invoke.ts';

type CloudRow = {
  /** Of a path; what is behind the match belongs to the protocol. */
  readonly prefix: RegExp;
  readonly name: ProtocolName;
  readonly protocol: Protocol;
  readonly guard: Guard;
  /** The request as the vendor's own API would have it. `found`: what the prefix found in the path as it came. */
  readonly enter?: (incoming: Incoming, found: RegExpExecArray) => Incoming | Complaint;
};

const AZURE = guardAzure('api-key');
const BEDROCK = guardAws('bedrock');

/** Bedrock tells failures of Claude in its own words. */
const BEDROCK_MESSAGES: Protocol = { ...ANTHROPIC, renderComplaint: awsComplaint };

/** The list of models, which belongs to nobody's project and has a name of its own. */
const VERTEX_MODELS: Protocol = {
  ...GEMINI,
  resource: (incoming) => {
    const list = GEMINI.resource(incoming);
    return typeof list === 'string' ? list.replace('"models":', '"publisherModels":').replaceAll('"models/', '"publishers/google/models/') : list;
  },
};

const CLOUD_ROWS: readonly CloudRow[] = [
  { prefix: /^\/azure\/openai\/v1(?=\/responses)/, name: 'openai-responses', protocol: RESPONSES, guard: AZURE, enter: enterResponses },
  { prefix: /^\/azure\/openai\/v1(?=\/)/, name: 'openai-chat', protocol: OPENAI, guard: AZURE },
  { prefix: /^\/foundry\/anthropic(?=\/)/, name: 'anthropic', protocol: ANTHROPIC, guard: guardAzure('x-api-key', 'api-key') },
  { prefix: /^\/claude-aws(?=\/)/, name: 'anthropic', protocol: ANTHROPIC, guard: guardAws('aws-external-anthropic', 'x-api-key'), enter: enterWorkspace },
  { prefix: /^\/bedrock\/anthropic(?=\/)/, name: 'anthropic', protocol: BEDROCK_MESSAGES, guard: BEDROCK, enter: enterBedrock },
  { prefix: /^\/bedrock\/openai\/v1(?=\/responses)/, name: 'openai-responses', protocol: RESPONSES, guard: BEDROCK, enter: enterResponses },
  { prefix: /^\/bedrock\/openai\/v1(?=\/)/, name: 'openai-chat', protocol: OPENAI, guard: BEDROCK },
  { prefix: /^\/bedrock\/model\/([^/]+)\/invoke(-with-response-stream)?$/, name: 'anthropic', protocol: INVOKE, guard: BEDROCK, enter: enterInvoke },
  { prefix: /^\/vertex\/v1\/projects\/[\w-]+\/locations\/[\w-]+\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/, name: 'anthropic', protocol: ANTHROPIC, guard: guardGoogle, enter: enterRawPredict },
  { prefix: /^\/vertex\/v1\/projects\/[\w-]+\/locations\/[\w-]+\/endpoints\/openapi(?=\/)/, name: 'openai-chat', protocol: OPENAI, guard: guardGoogle, enter: enterPublisher },
  { prefix: /^\/vertex\/v1(?:beta1\/projects\/[\w-]+\/locations\/[\w-]+)?\/publishers\/google(?=\/models\/)/, name: 'gemini', protocol: GEMINI, guard: guardGoogle },
  { prefix: /^\/vertex\/v1beta1\/publishers\/google(?=\/models$)/, name: 'gemini', protocol: VERTEX_MODELS, guard: guardGoogle },
];

/** The row whose prefix a path has, and what that found there. */
export function cloudRowOf(path: string): { readonly row: CloudRow; readonly found: RegExpExecArray } | undefined {
  for (const row of CLOUD_ROWS) {
    const found = row.prefix.exec(path);
    if (found !== null) return { row, found };
  }
  return undefined;
}

function enterResponses(incoming: Incoming): Incoming {
  return { ...incoming, path: incoming.path.replace('/responses', '') };
}

function enterWorkspace(incoming: Incoming): Incoming | Complaint {
  return incoming.headers['anthropic-workspace-id'] === undefined ? new Complaint(400, 'anthropic-workspace-id: header is required') : incoming;
}

type Body = Readonly<Record<string, unknown>>;

function bodyOf({ body }: Incoming): Body | undefined {
  const json = parseLenient(body);
  return isObject(json) ? json : undefined;
}

/** What Bedrock and Vertex do not take of the vendor's. */
function foreign(json: Body): Complaint | undefined {
  if (json['cache_control'] !== undefined) return new Complaint(400, 'cache_control: Extra inputs are not permitted');
  return /"type":"url"/.test(JSON.stringify(json['messages'] ?? [])) ? new Complaint(400, 'messages: URL sources are not supported') : undefined;
}

/** `us.anthropic.fake-chat-v1:0` is the fake model `fake-chat`. */
function plainId(id: string): string {
  return id.replace(/^(?:[a-z-]+\.)?anthropic\./, '').replace(/(?:-v\d+)?(?::\d+)?$/, '');
}

function withJson(incoming: Incoming, json: Body, path: string): Incoming {
  return { ...incoming, path, body: JSON.stringify(json), headers: { ...incoming.headers, 'anthropic-version': '2023-06-01' } };
}

function enterBedrock(incoming: Incoming): Incoming | Complaint {
  const json = bodyOf(incoming);
  const model = json?.['model'];
  if (json === undefined || incoming.method !== 'POST') return incoming;
  if (typeof model !== 'string' || !/(?:^|\.)anthropic\./.test(model) || model.includes(':')) return new Complaint(400, 'The provided model identifier is invalid.');
  return foreign(json) ?? withJson(incoming, { ...json, model: plainId(model) }, incoming.path);
}

function enterInvoke(incoming: Incoming, [, id = '', stream]: RegExpExecArray): Incoming | Complaint {
  const json = bodyOf(incoming);
  if (json === undefined) return new Complaint(400, 'Malformed input request, please reformat your input and try again.');
  if (json['anthropic_version'] !== 'bedrock-2023-05-31') return new Complaint(400, 'anthropic_version: Field required');
  const extra = ['model', 'stream'].find((name) => json[name] !== undefined);
  if (extra !== undefined) return new Complaint(400, `Malformed input request: #: extraneous key [${extra}] is not permitted, please reformat your input and try again.`);
  const model = decodedPath(id);
  if (!model.includes('anthropic.') && !model.startsWith('arn:')) return new Complaint(400, 'The provided model identifier is invalid.');
  const { anthropic_version: _, ...rest } = json;
  const named = model.startsWith('arn:') ? model.slice(model.lastIndexOf('/') + 1) : plainId(model);
  return foreign(json) ?? withJson(incoming, { model: named, ...rest, ...(stream === undefined ? {} : { stream: true }) }, '/v1/messages');
}

function enterRawPredict(incoming: Incoming, [, model = '', method]: RegExpExecArray): Incoming | Complaint {
  const json = bodyOf(incoming);
  if (json?.['anthropic_version'] !== 'vertex-2023-10-16') return new Complaint(400, 'anthropic_version: Field required');
  if (json['model'] !== undefined) return new Complaint(400, 'model: Extra inputs are not permitted');
  if (incoming.headers['anthropic-beta'] !== undefined) return new Complaint(400, 'Unexpected value(s) for the `anthropic-beta` header.');
  const isStream = json['stream'] === true;
  if (isStream !== (method === 'streamRawPredict')) return new Complaint(400, 'stream: does not match the method');
  const { anthropic_version: _, ...rest } = json;
  return foreign(json) ?? withJson(incoming, { model: decodedPath(model).replace(/^claude-/, '').replace(/@.*$/, ''), ...rest }, '/v1/messages');
}

function enterPublisher(incoming: Incoming): Incoming | Complaint {
  const json = bodyOf(incoming);
  const model = json?.['model'];
  if (json === undefined || typeof model !== 'string') return incoming;
  const [publisher, name] = model.split('/', 2);
  if (name === undefined || publisher === '') return new Complaint(400, 'Malformed publisher model; expected publisher/model.');
  // The limit has either name here.
  const { max_tokens: limit, ...rest } = json;
  return { ...incoming, body: JSON.stringify({ ...rest, ...(limit === undefined ? {} : { max_completion_tokens: limit }), model: name }) };
}
