/**
 * What a test imports: a fake provider to stand in for the vendors' APIs. Loads nothing of the gateway's.
 */

export { FAULTS, MODELS, startSandbox } from './sandbox.ts';
export type { Sandbox, SandboxSettings } from './sandbox.ts';
export type { ProtocolName, RecordedCall } from './calls.ts';
export type { ReplyFunction, ScriptedReply } from './replies.ts';
