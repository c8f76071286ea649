/** What Node's permission model says of the network: from Node 25 on it takes a flag, before that it asked for none. */

const FLAG = '--allow-net';

/** Of `process`. */
type PermissionHolder = {
  /** Absent without the permission model. */
  readonly permission?: { has(scope: string): boolean };
  readonly allowedNodeEnvironmentFlags: ReadonlySet<string>;
};

/** Whether every connection would be refused. An older Node denies to have a scope that it does not know, and lets all through. */
export function isKeptFromNetwork({ permission, allowedNodeEnvironmentFlags }: PermissionHolder): boolean {
  return permission?.has('net') === false && allowedNodeEnvironmentFlags.has(FLAG);
}
