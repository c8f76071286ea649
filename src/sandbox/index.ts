/**
 * What a test imports: a fake provider to stand in for the vendors' APIs. Loads nothing of the gateway's.
 */

import { FAULTS as ALL_FAULTS } from './faults.ts';
import { MODELS as ALL_MODELS } from './script.ts';

export { startSandbox } from './sandbox.ts';
export type { Sandbox, SandboxSettings } from './sandbox.ts';
export type { ProtocolName, RecordedCall } from './calls.ts';
export type { CloudIdentity } from './cloud-identity.ts';
export type { ReplyFunction, ScriptedReply } from './scripted-reply.ts';

type Named = Readonly<Record<string, { readonly meaning: string }>>;

/** The models that answer, by name; an `N` in a name stands for a number. */
export const MODELS: Named = ALL_MODELS;
/** Those that fail, and without their `fake-` the names of faults that a reply may have. */
export const FAULTS: Named = ALL_FAULTS;
