/** A process that opens files until it may open no more, and prints what its attempts to reach a provider then end with. */

import { closeSync, openSync } from 'node:fs';
import { Scope } from '../../src/core/scope.ts';
import { createFetchTransport } from '../../src/upstream/fetch.ts';
import { createHttpTransport } from '../../src/upstream/http.ts';
import { createWireTransport } from '../../src/upstream/wire.ts';
import { LIMITS, failureFrom, postCall, providerAt } from './attempts.ts';

const http = createHttpTransport();
const wire = createWireTransport();
const ATTEMPTS = [
  ['http to an address', http, 'http://127.0.0.1:8080'],
  ['http to a name', http, 'http://provider.invalid:8080'],
  ['wire to an address', wire, 'http://127.0.0.1:8080'],
  ['wire to a name', wire, 'http://provider.invalid:8080'],
  ['fetch to an address', createFetchTransport(), 'http://127.0.0.1:8080'],
] as const;

// Loaded now: later there is no descriptor to load it with.
await fetch('data:,');
const descriptors: number[] = [];

function openAll(): void {
  try {
    for (;;) descriptors.push(openSync('/dev/null', 'r'));
  } catch {
    // None is left.
  }
}

const outcomes: Record<string, unknown> = {};
for (const [what, transport, url] of ATTEMPTS) {
  // The loader may give one back at any moment, and then it is used.
  for (let tries = 0; tries < 20; tries += 1) {
    openAll();
    const result = await transport.send(providerAt(new URL(url)), postCall(), new Scope(), LIMITS);
    const { message, isOwn, isRetried } = failureFrom(result);
    outcomes[what] = { message, isOwn, isRetried };
    if (isOwn) break;
  }
}
for (const descriptor of descriptors) closeSync(descriptor);
process.stdout.write(JSON.stringify(outcomes));
