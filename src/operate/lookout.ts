/**
 * What is observed on the way to each provider during real calls: lookups, connections, certificates, dates.
 *
 * It opens no connection of its own and changes nothing of the calls: what it sees is what a caller's request would meet.
 */

import { TLSSocket } from 'node:tls';
import type { Secret } from '../base/secret.ts';
import type { Config } from '../config/config.ts';
import { Failure } from '../core/failure.ts';
import { createAuthorizedTransport } from '../upstream/authorized.ts';
import type { CredentialReport } from '../upstream/credentials/authorization.ts';
import { createAuthorizations } from '../upstream/credentials/index.ts';
import { createFetchTransport } from '../upstream/fetch.ts';
import { createHttpTransport } from '../upstream/http.ts';
import { PLATFORM } from '../upstream/name-lookup.ts';
import type { NameSource } from '../upstream/name-lookup.ts';
import { proxyFor } from '../upstream/proxy.ts';
import type { Transport } from '../upstream/transport.ts';
import { createWireTransport } from '../upstream/wire.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A lookup of a host's name, on the clock of `performance.now()`. */
export type Lookup = {
  readonly startedAtMs: number;
  /** Undefined while nobody has answered. */
  endedAtMs: number | undefined;
  /** Empty when there are none. */
  addresses: readonly string[];
};

/** What was seen of one provider's calls. */
export type Sight = {
  /** When the first connection stood, TLS included; undefined = none did, or nobody can see it. */
  connectedAtMs: number | undefined;
  /** Of the other end: a proxy's, where one is on the way. */
  address: string | undefined;
  certificate: { readonly issuer: string; readonly daysLeft: number } | undefined;
  /** Whether HTTP came back, whatever it said. */
  isAnswered: boolean;
  /** How far the clock of who answered is ahead of this machine's; undefined = it named no date. */
  skewMs: number | undefined;
};

export type Lookout = {
  readonly transport: Pick<Transport, 'send' | 'close'>;
  seenOf(provider: string): Readonly<Sight>;
  /** The last lookup of a name; undefined = there was none. */
  lookupOf(hostname: string): Readonly<Lookup> | undefined;
  /** Of a provider whose credentials are no key: what they are, and why they could not be had, if so; undefined for others. */
  credentialsOf(provider: string): { readonly report: CredentialReport; readonly failure: Failure | undefined } | undefined;
  /** Those of such credentials. */
  secrets(): readonly Secret[];
};

/** What is given, and what tests put in place of the world. */
export type World = { readonly ca?: string; readonly nameSource?: NameSource; readonly readFile?: (path: string) => string };

/** The transport that the configuration asks for, watched. */
export function createLookout(config: Config, { ca, nameSource = PLATFORM, readFile = readNothing }: World): Lookout {
  const lookups = new Map<string, Lookup>();
  const sights = new Map<string, Sight>();
  const sightOf = (provider: string): Sight => {
    let sight = sights.get(provider);
    if (sight === undefined) {
      sight = { connectedAtMs: undefined, address: undefined, certificate: undefined, isAnswered: false, skewMs: undefined };
      sights.set(provider, sight);
    }
    return sight;
  };
  const createTransport = config.transport === 'wire' ? createWireTransport : createHttpTransport;
  const plain = config.transport === 'fetch'
    ? createFetchTransport()
    : createTransport({
        proxyFor: (baseUrl) => proxyFor(config.proxy, baseUrl),
        nameSource: watchLookups(nameSource, lookups),
        ...(ca === undefined ? {} : { ca }),
        onConnected(provider, socket) {
          const sight = sightOf(provider);
          if (sight.connectedAtMs !== undefined) return;
          sight.connectedAtMs = performance.now();
          sight.address = socket.remoteAddress;
          if (socket instanceof TLSSocket) sight.certificate = certificateOf(socket);
        },
      });
  const credentialFailures = new Map<string, Failure>();
  const authorizations = createAuthorizations({
    internet: plain,
    readFile,
    clock: { now: () => performance.now(), wall: Date.now },
    onFailure(names, failure) {
      for (const name of names) credentialFailures.set(name, failure);
    },
  });
  authorizations.replace(config.providers);
  const authorized = createAuthorizedTransport(plain, authorizations.of);
  return {
    transport: {
      async send(provider, call, scope, limits, key) {
        const response = await authorized.send(provider, call, scope, limits, key);
        if (response instanceof Failure) return response;
        const sight = sightOf(provider.name);
        sight.isAnswered = true;
        sight.skewMs ??= skewOf(response.headers['date']);
        return response;
      },
      close() {
        authorized.close();
        authorizations.close();
      },
    },
    seenOf: sightOf,
    lookupOf: (hostname) => lookups.get(hostname),
    credentialsOf(provider) {
      const authorization = authorizations.of(provider);
      return authorization && { report: authorization.report(), failure: credentialFailures.get(provider) };
    },
    secrets: authorizations.secrets,
  };
}

function readNothing(): never {
  throw new Error('there are no files');
}

function watchLookups(source: NameSource, lookups: Map<string, Lookup>): NameSource {
  return {
    query(hostname, onAnswer) {
      const lookup: Lookup = { startedAtMs: performance.now(), endedAtMs: undefined, addresses: [] };
      lookups.set(hostname, lookup);
      source.query(hostname, (error, addresses) => {
        lookup.endedAtMs = performance.now();
        lookup.addresses = addresses.map(({ address }) => address);
        onAnswer(error, addresses);
      });
    },
    probe: source.probe,
  };
}

function certificateOf(socket: TLSSocket): Sight['certificate'] {
  // Declared to be there always, and absent where a session was resumed.
  const { issuer, valid_to: validTo } = socket.getPeerCertificate() as Partial<ReturnType<TLSSocket['getPeerCertificate']>>;
  if (issuer === undefined || validTo === undefined) return undefined;
  // A name that comes twice is a list.
  const name: unknown = issuer.O ?? issuer.CN;
  return { issuer: String(name ?? 'unknown'), daysLeft: Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS) };
}

/** A date is cut to the second: half of one is what it lacks on average. */
function skewOf(date: unknown): number | undefined {
  const dateMs = typeof date === 'string' ? Date.parse(date) : NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs + 500 - Date.now();
}
