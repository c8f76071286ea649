/** The kinds of values that settings have: what an operator writes, and what it is then. */

import { BlockList, isIP, isIPv6 } from 'node:net';
import { availableParallelism } from 'node:os';
import { parseDuration } from '../base/duration.ts';
import { parseEngineAddress } from '../base/engine-address.ts';
import type { EngineAddress } from '../base/engine-address.ts';
import { proxyAddressFrom } from '../base/proxy-address.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { Secret } from '../base/secret.ts';
import { parseSize, renderSize } from '../base/size.ts';

/** A kind of value. */
export type SettingType<T> = {
  /** For tables, e.g. `duration`. */
  readonly name: string;
  /** Completes the sentence "expected …". */
  readonly expects: string;
  /** The value of a trimmed text of at least one character; undefined when it is none. */
  readonly parse: (text: string) => T | undefined;
  /** `never`: a secret, which may come from a file too. `when good`: what does not parse may still hold a password. */
  readonly shown: 'always' | 'when good' | 'never';
  /** What code may say in place of a text, besides the text itself. */
  readonly takes?: 'milliseconds' | 'number' | 'boolean' | 'list';
  /** All that it takes, where that is a few words. */
  readonly choices?: readonly string[];
};

/** Where the gateway accepts connections. Host undefined = every interface; port 0 = any that is free. */
export type ListenAddress =
  | { readonly type: 'tcp'; readonly host: string | undefined; readonly port: number }
  | { readonly type: 'unix'; readonly path: string };

/** Milliseconds, above zero. */
export const DURATION = durationType('a duration from 1ms to 596h, such as 15s or 1m30s', (ms) => (ms > 0 ? ms : undefined));

/** Milliseconds; zero = at once. */
export const DELAY = durationType('a duration from 0 to 596h, such as 500ms or 30s', (ms) => (ms >= 0 ? ms : undefined));

/** Milliseconds; zero = never. */
export const INTERVAL = durationType('a duration up to 596h, such as 15s, or 0 for off', (ms) => Math.max(ms, 0));

function durationType(expects: string, accept: (ms: number) => number | undefined): SettingType<number> {
  const parse = (text: string): number | undefined => {
    const ms = parseDuration(text);
    return ms === undefined ? undefined : accept(ms);
  };
  return { name: 'duration', expects, parse, shown: 'always', takes: 'milliseconds' };
}

/** Bytes, from 1 to `bytesMax`. */
export function size(bytesMax: number): SettingType<number> {
  const parse = (text: string): number | undefined => {
    const bytes = parseSize(text);
    return bytes !== undefined && bytes >= 1 && bytes <= bytesMax ? bytes : undefined;
  };
  return { name: 'size', expects: `a size from 1 to ${renderSize(bytesMax)}, such as 65536 or 512KiB`, parse, shown: 'always', takes: 'number' };
}

/** A whole number, both ends included. */
export function count(min: number, max: number): SettingType<number> {
  const parse = (text: string): number | undefined => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
  return { name: 'count', expects: `a whole number from ${min} to ${max}`, parse, shown: 'always', takes: 'number' };
}

/** Each takes the memory of a gateway, and a part of every scrape. */
const WORKERS_MAX = 128;

/** Processes; `auto` = as many as there are cores for this one. */
export const WORKERS: SettingType<number> = {
  ...count(1, WORKERS_MAX),
  expects: `a whole number from 1 to ${WORKERS_MAX}, or auto`,
  parse: (text) => (text === 'auto' ? Math.min(availableParallelism(), WORKERS_MAX) : count(1, WORKERS_MAX).parse(text)),
};

/** One of a few words. */
export function word<T extends string>(...choices: readonly T[]): SettingType<T> {
  const parse = (text: string): T | undefined => choices.find((choice) => choice === text);
  return { name: choices.join(', '), expects: `one of ${choices.join(', ')}`, parse, shown: 'always', choices };
}

/** Some of a few words, separated by commas; `none` = none of them. */
export function someOf(...choices: readonly string[]): SettingType<readonly string[]> {
  const parse = (text: string): readonly string[] | undefined => {
    const chosen = words(text);
    if (chosen.length === 1 && chosen[0] === 'none') return [];
    return chosen.length > 0 && chosen.every((item) => choices.includes(item)) ? chosen : undefined;
  };
  return { name: 'list', expects: `some of ${choices.join(', ')}, separated by commas, or none`, parse, shown: 'always', takes: 'list', choices };
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

export const BOOLEAN: SettingType<boolean> = {
  name: 'boolean',
  expects: 'true or false (1 or 0)',
  parse: (text) => BOOLEANS.get(text.toLowerCase()),
  shown: 'always',
  takes: 'boolean',
};

/** A provider's name in requests, logs and metrics. */
export const PROVIDER_NAME: SettingType<string> = {
  name: 'name',
  expects: 'up to 64 small letters, digits, "-" or "_"',
  parse: (text) => (/^[a-z0-9_-]{1,64}$/.test(text) ? text : undefined),
  shown: 'always',
};

/** A file's path, whatever is there. */
export const PATH: SettingType<string> = { name: 'path', expects: 'a path', parse: (text) => text, shown: 'always' };

/** A caller's token has to fit an Authorization header of 4096 characters; no provider's key is nearly as long. */
const SECRET_CHARS_MAX = 4000;

/** Anything else could not travel in a header, and no key or token contains it. */
export const SECRET: SettingType<Secret> = {
  name: 'secret',
  expects: `1 to ${SECRET_CHARS_MAX} printable ASCII characters without a space`,
  parse: (text) => (/^[\x21-\x7e]+$/.test(text) && text.length <= SECRET_CHARS_MAX ? new Secret(text) : undefined),
  shown: 'never',
};

/** Entries between commas or, as files have them, on lines of their own; at least one. What they say is not looked at. */
export const SECRET_LIST: SettingType<readonly string[]> = {
  name: 'secret',
  expects: 'label:token, more of them separated by commas',
  parse: (text) => entriesIn(text, /[,\n]/),
  shown: 'never',
};

/** Most keys of one provider: each has a number in metrics, and state of its own. */
export const KEYS_MAX = 100;

/** Keys of one account, in the operator's order. */
export const KEY_LIST: SettingType<readonly Secret[]> = {
  name: 'secret',
  expects: `1 to ${KEYS_MAX} keys separated by commas, each of ${SECRET.expects}`,
  parse: (text) => {
    const keys = words(text).map(SECRET.parse);
    return keys.length >= 1 && keys.length <= KEYS_MAX && keys.every((key) => key !== undefined) ? keys : undefined;
  },
  shown: 'never',
};

/** Entries between semicolons, at least one; what they say is not looked at. */
export function entriesOf(expects: string): SettingType<readonly string[]> {
  return { name: 'list', expects, parse: (text) => entriesIn(text, /;/), shown: 'always' };
}

function entriesIn(text: string, separator: RegExp): readonly string[] | undefined {
  const entries = text.split(separator).map((entry) => entry.trim()).filter((entry) => entry !== '');
  return entries.length > 0 ? entries : undefined;
}

/** Names and addresses of hosts, and domains, in lower case. */
export const HOSTS: SettingType<readonly string[]> = {
  name: 'list',
  expects: 'host names, separated by commas',
  parse: (text) => words(text.toLowerCase()),
  shown: 'always',
  takes: 'list',
};

/** IP addresses, and networks as `address/bits`. */
export const NETWORKS: SettingType<BlockList> = {
  name: 'list',
  expects: 'IP addresses and networks such as 10.0.0.0/8, separated by commas',
  parse: (text) => {
    const networks = new BlockList();
    return words(text).every((word) => addNetwork(networks, word)) ? networks : undefined;
  },
  shown: 'always',
  takes: 'list',
};

/** False when the text is no address and no network. */
function addNetwork(networks: BlockList, text: string): boolean {
  const [, address = '', bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  const prefix = Number(bits ?? (version === 4 ? 32 : 128));
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return false;
  networks.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6');
  return true;
}

/** Web origins as browsers write them in `Origin`. */
export const ORIGINS: SettingType<readonly string[]> = {
  name: 'list',
  expects: 'origins such as https://app.example.com, separated by commas',
  parse: (text) => {
    const origins = words(text).map(parseOrigin);
    return origins.every((origin) => origin !== undefined) ? origins : undefined;
  },
  shown: 'always',
  takes: 'list',
};

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

/** Of a scheme that applications and extensions have for their own pages: browsers send what was written. `file:` has none. */
const APPLICATION_ORIGIN = /^(?!(?:https?|wss?|ftp|file):)[a-z][a-z0-9+.-]*:\/\/[\w.-]+(?::\d{1,5})?$/;

function parseOrigin(text: string): string | undefined {
  if (APPLICATION_ORIGIN.test(text)) return text;
  const url = parsePlainUrl(text);
  return url?.pathname === '/' && !url.hostname.includes('*') ? url.origin : undefined;
}

/** What Linux keeps of the path of a Unix socket. Node 20 cuts a longer one without a word, and listens elsewhere. */
const UNIX_PATH_BYTES_MAX = 107;

/** `host:port`, `:port`, `[ipv6]:port` or `unix:/path`. */
export const ADDRESS: SettingType<ListenAddress> = {
  name: 'address',
  expects: `host:port, :port, [ipv6]:port or unix:/path of at most ${UNIX_PATH_BYTES_MAX} bytes`,
  parse: parseAddress,
  shown: 'always',
};

/** A port alone, as platforms assign it: every interface. */
export const PORT: SettingType<ListenAddress> = {
  name: 'port',
  expects: 'a port from 0 to 65535',
  parse: (text) => parseAddress(`:${text}`),
  shown: 'always',
};

function parseAddress(text: string): ListenAddress | undefined {
  if (text.startsWith('unix:/')) {
    const path = text.slice('unix:'.length);
    return Buffer.byteLength(path) > UNIX_PATH_BYTES_MAX ? undefined : { type: 'unix', path };
  }
  const match = /^(?:\[(?<ipv6>[^\]]+)\]|(?<host>[\w.-]*)):(?<port>\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const { ipv6, host, port } = match.groups as { ipv6?: string; host?: string; port: string };
  if (Number(port) > 65535 || (ipv6 !== undefined && !isIPv6(ipv6))) return undefined;
  return { type: 'tcp', host: ipv6 ?? (host === '' ? undefined : host), port: Number(port) };
}

/** Where a provider is. No trailing slash in its path. */
export const BASE_URL: SettingType<URL> = {
  name: 'URL',
  expects: 'an http or https URL without user name, password, query or fragment',
  parse: (text) => {
    const url = parsePlainUrl(text);
    if (url !== undefined) url.pathname = url.pathname.replace(/\/+$/, '');
    return url;
  },
  shown: 'when good',
};

/** A proxy, which may have a user name and a password. */
export const PROXY_URL: SettingType<ProxyAddress> = {
  name: 'URL (secret)',
  expects: 'an http or https URL such as http://proxy.example.com:3128',
  parse: (text) => {
    const url = parseHttpUrl(text);
    return url?.pathname === '/' ? proxyAddressFrom(url) : undefined;
  },
  shown: 'never',
};

/** A Redis or Valkey, which may have a password. */
export const ENGINE_URL: SettingType<EngineAddress> = {
  name: 'URL (secret)',
  expects: 'redis://[user:password@]host[:6379][/0], or rediss:// for TLS',
  parse: parseEngineAddress,
  shown: 'never',
};

function parsePlainUrl(text: string): URL | undefined {
  const url = parseHttpUrl(text);
  return url === undefined || url.username !== '' || url.password !== '' ? undefined : url;
}

/** An absolute URL with neither query nor fragment. The error that `new URL` throws would show its text. */
function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^?#\s]+$/i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text);
}
