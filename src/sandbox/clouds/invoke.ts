/**
 * Bedrock's InvokeModel: the Messages API with the model in the path and the version in the body, its errors AWS's own, its
 * streams in AWS's binary form.
 *
 * Source: Amazon Bedrock, InvokeModel, InvokeModelWithResponseStream; Smithy, event stream.
 */

import { EVENT_STREAM_TYPE } from '../../base/aws/event-frames.ts';
import { crc32 } from '../../base/crc32.ts';
import { ANTHROPIC } from '../anthropic/protocol.ts';
import { jsonReply } from '../protocol.ts';
import type { Complaint, Piece, Protocol, Reply } from '../protocol.ts';

/** The protocol. Pieces of its streams are bytes as Latin-1. */
export const INVOKE: Protocol = {
  ...ANTHROPIC,
  render(ask, script) {
    const reply = ANTHROPIC.render(ask, script);
    if (!ask.isStream) return reply;
    return { ...reply, isBinary: true, headers: { 'content-type': EVENT_STREAM_TYPE }, pieces: reply.pieces.map(framed) };
  },
  renderComplaint: awsComplaint,
  renderErrorEvent: ({ status, message }) => renderMessage({ ':exception-type': lowerFirst(typeOf(status)), ':content-type': 'application/json', ':message-type': 'exception' }, JSON.stringify({ message })),
};

/** Names of exceptions by status, as Bedrock has them. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'ValidationException', 401: 'UnrecognizedClientException', 403: 'AccessDeniedException', 404: 'ResourceNotFoundException', 408: 'ModelTimeoutException', 424: 'ModelErrorException',
  429: 'ThrottlingException', 503: 'ServiceUnavailableException',
};

function typeOf(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'InternalServerException' : 'ValidationException');
}

function lowerFirst(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/** A failure as Bedrock tells it, whichever format the request had. */
export function awsComplaint({ status, message, code }: Complaint): Reply {
  return jsonReply(status, JSON.stringify({ message }), { 'x-amzn-errortype': `${code ?? typeOf(status)}:http://internal.amazon.com/coral/com.amazon.bedrock/` });
}

/** Server-sent events as messages, each event in one. */
function framed({ bytes, isText }: Piece): Piece {
  const events = [...bytes.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => {
    const payload = JSON.stringify({ bytes: Buffer.from(data).toString('base64'), p: 'abcdefgh'.slice(0, 1 + (data.length % 8)) });
    return renderMessage({ ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }, payload);
  });
  return { isText, bytes: events.join('') };
}

const TEXT_TYPE = 7;

/** One message, its bytes as Latin-1. */
function renderMessage(headers: Readonly<Record<string, string>>, payload: string): string {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => {
    const [key, text] = [Buffer.from(name), Buffer.from(value)];
    return Buffer.concat([Buffer.of(key.length), key, Buffer.of(TEXT_TYPE, text.length >> 8, text.length & 0xff), text]);
  }));
  const body = Buffer.from(payload);
  const message = Buffer.alloc(16 + head.length + body.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(head.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  head.copy(message, 12);
  body.copy(message, 12 + head.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message.toString('latin1');
}
