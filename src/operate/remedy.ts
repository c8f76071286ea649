/** What to do about a failed check: which variable to mend, and how. Pure, and without a secret. */

import { hostnameOf } from '../base/proxy-address.ts';
import type { LoadedConfig } from '../config/config.ts';
import type { Provider } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import { compatRow, PROVIDER_ROWS } from '../providers/index.ts';
import { CERTIFICATE_CODE, CERTIFICATE_WANTED_CODE } from '../upstream/transport-failure.ts';

/** What is checked of a provider, in this order. */
export type CheckName = 'source' | 'name' | 'proxy' | 'connect' | 'tls' | 'key' | 'chat' | 'json' | 'clock';

/** Those that fail because a call does. */
export type FailedCheckName = Exclude<CheckName, 'json' | 'clock'>;

/** Where a provider's settings come from. */
export type Origin = {
  readonly provider: string;
  readonly host: string;
  readonly hasKey: boolean;
  /** Whether it is called by something else than keys. */
  readonly hasCredentials: boolean;
  /** The variables that are set, or to be set. */
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  readonly proxyVariable: string;
  readonly isBaseUrlSet: boolean;
  /** Whether a proxy is on the way. */
  readonly hasProxy: boolean;
};

/** What the configuration says of where its settings come from. */
export type Written = Pick<LoadedConfig, 'effective' | 'origins'>;

/** `provider` may have one of its keys alone: its variable is the one to mend. */
export function originOf(provider: Provider, { effective, origins }: Written, hasProxy: boolean): Origin {
  // One that is like another has that one's place where it has none of its own.
  const row = PROVIDER_ROWS.find(({ name }) => name === (provider.like ?? provider.name)) ?? compatRow(provider.name);
  const { keyVariables = [], baseUrlPlace } = origins.get(provider.name) ?? {};
  const [key, ...otherKeys] = provider.keys;
  const own = key === undefined || otherKeys.length > 0 ? undefined : keyVariables[key.number - 1];
  const setOne = (variables: readonly string[]): string | undefined => {
    const value = effective.find(({ variable, source }) => source !== 'default' && variables.includes(variable));
    return value === undefined ? undefined : value.source === 'file' ? `${value.variable}_FILE` : value.variable;
  };
  const proxyVariable = provider.baseUrl.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return {
    provider: provider.name,
    host: hostnameOf(provider.baseUrl),
    hasKey: provider.keys.length > 0,
    hasCredentials: provider.credentials !== undefined,
    keyVariable: (own === undefined ? keyVariables : [own]).map((variable) => setOne([variable]) ?? variable).join(' or ') || row.keyVariables.join(' or '),
    baseUrlVariable: baseUrlPlace ?? row.baseUrlVariable,
    proxyVariable: setOne([proxyVariable, proxyVariable.toLowerCase()]) ?? proxyVariable,
    isBaseUrlSet: baseUrlPlace !== undefined,
    hasProxy,
  };
}

/** Codes of a TLS that never came to a certificate: whoever answers speaks something else. */
const TLS_CODE = /^EPROTO$|^ERR_SSL_/;
const LOOKUP_CODES: readonly (string | undefined)[] = ['ENOTFOUND', 'EAI_AGAIN'];

/** How far a provider's calls got. */
export type Reach = { readonly isConnected: boolean; readonly isAnswered: boolean; readonly hasProxy: boolean };

/** The check that the failure of a provider's first call belongs to. */
export function placeOf(failure: Failure, { isConnected, isAnswered, hasProxy }: Reach): FailedCheckName {
  const { code = '' } = failure;
  // Only proxies have this status.
  if (isAnswered) return hasProxy && failure.upstreamStatus === 407 ? 'proxy' : 'key';
  if (LOOKUP_CODES.includes(code)) return 'name';
  if (failure.isAtProxy) return 'proxy';
  if (CERTIFICATE_CODE.test(code) || TLS_CODE.test(code)) return 'tls';
  if (isConnected) return 'key';
  return hasProxy ? 'proxy' : 'connect';
}

/** One or two sentences that begin with the variable to mend, where one can be. */
export function remedyFor(place: FailedCheckName, failure: Failure, origin: Origin): string {
  switch (place) {
    case 'source':
      return sourceRemedy(failure, origin);
    case 'name':
      return nameRemedy(origin);
    case 'proxy':
      return proxyRemedy(failure, origin);
    case 'connect':
      if (origin.isBaseUrlSet) return `${origin.baseUrlVariable}: check host and port.`;
      return `${origin.proxyVariable}: set it if only a proxy leads out of this network. Otherwise let the firewall allow connections to ${origin.host}.`;
    case 'tls':
      return tlsRemedy(failure, origin);
    case 'key':
    case 'chat':
      return answerRemedy(place, failure, origin);
  }
}

function sourceRemedy({ kind }: Failure, origin: Origin): string {
  const { provider, keyVariable } = origin;
  if (kind === 'auth') return identityRemedy(origin);
  return `GATEWAY_CLOUDS: check that the source of credentials of ${provider} can be reached from here; or give a key in ${keyVariable}.`;
}

function identityRemedy({ provider, keyVariable }: Origin): string {
  return `GATEWAY_CLOUDS: check the identity that ${provider} is called by, and what it may do; or give a key in ${keyVariable}.`;
}

function nameRemedy({ hasProxy, proxyVariable, isBaseUrlSet, baseUrlVariable, host }: Origin): string {
  if (hasProxy) return `${proxyVariable}: check the name of the proxy.`;
  if (isBaseUrlSet) return `${baseUrlVariable}: check the name of the host.`;
  return `${proxyVariable}: set it if only a proxy leads out of this network. Otherwise make the DNS server of this machine resolve ${host}.`;
}

function proxyRemedy({ kind, code = '', limit }: Failure, { proxyVariable, host }: Origin): string {
  if (kind === 'auth') return `${proxyVariable}: give a user name and a password that the proxy accepts.`;
  if (CERTIFICATE_CODE.test(code)) return `NODE_EXTRA_CA_CERTS: name a PEM file with the authority of the proxy's certificate.`;
  if (code === '' && limit === undefined) return `${proxyVariable}: make the proxy allow ${host}, or list that in NO_PROXY.`;
  return `${proxyVariable}: check host, port and whether the proxy is up, or list ${host} in NO_PROXY.`;
}

function tlsRemedy({ code = '' }: Failure, { baseUrlVariable, host }: Origin): string {
  if (code === CERTIFICATE_WANTED_CODE) return `${baseUrlVariable}: name a host that asks for no client certificate, such as a proxy of your own that has one.`;
  if (TLS_CODE.test(code)) return `${baseUrlVariable}: check the port, and https against http: what answers does not speak TLS.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return `${baseUrlVariable}: name a host that the certificate is for, which ${host} is not.`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'The certificate has to be renewed where it is served, unless the clock of this machine is wrong.';
  return 'NODE_EXTRA_CA_CERTS: name a PEM file with the authority that issued the certificate, if it is your own.';
}

function answerRemedy(place: 'key' | 'chat', { kind }: Failure, origin: Origin): string {
  const { provider, hasKey, hasCredentials, keyVariable, baseUrlVariable } = origin;
  switch (kind) {
    case 'auth':
      if (hasCredentials) return identityRemedy(origin);
      return hasKey ? `${keyVariable}: give a key that ${provider} accepts, of an account that may do this.` : `${keyVariable}: give a key; ${provider} asks for one.`;
    case 'rate_limit':
      return `${hasCredentials ? 'GATEWAY_CLOUDS' : keyVariable}: raise the limits of its account, or wait.`;
    case 'server':
    case 'unknown':
      return `${baseUrlVariable}: check that it is the address of the API; if it is, the fault is at ${provider} itself.`;
    default:
      if (place === 'chat') return `--chat=${provider}/MODEL: name a model that this account may chat with.`;
      return `${baseUrlVariable}: check its path. If the host only lacks a list of models, name one that it serves: --chat=${provider}/MODEL.`;
  }
}
