/** A Redis or Valkey as URLs name it: `rediss://user:password@redis.example.com:6379/0`. */

import { hostnameOf } from './proxy-address.ts';
import { Secret } from './secret.ts';

export type EngineAddress = {
  readonly isTls: boolean;
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  readonly port: number;
  /** Undefined = the engine's default user. */
  readonly user: string | undefined;
  readonly password: Secret | undefined;
  readonly database: number;
};

const DEFAULT_PORT = 6379;

/** The address in a text; undefined when it is none. The error that `new URL` throws would show the password. */
export function parseEngineAddress(text: string): EngineAddress | undefined {
  if (!/^rediss?:\/\/[^?#\s]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const [, database = '0'] = /^\/?(\d{1,5})?$/.exec(url.pathname) ?? [undefined, ''];
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (url.hostname === '' || url.port === '0' || database === '' || user === undefined || password === undefined) return undefined;
  // A password in the place of the user would be sent nowhere, and be missed.
  if (user !== '' && password === '') return undefined;
  return {
    isTls: url.protocol === 'rediss:',
    hostname: hostnameOf(url),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    user: user === '' ? undefined : user,
    password: password === '' ? undefined : new Secret(password),
    database: Number(database),
  };
}

/** Undefined where the text is not valid percent-encoding. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** For logs and metrics. */
export function engineName({ hostname, port }: EngineAddress): string {
  return `${hostname}:${port}`;
}

/** All of it as text, the password included: for comparing. */
export function engineAddressText(address: EngineAddress | undefined): string {
  if (address === undefined) return '';
  const { isTls, hostname, port, user, password, database } = address;
  return JSON.stringify([isTls, hostname, port, user, password?.reveal(), database]);
}
