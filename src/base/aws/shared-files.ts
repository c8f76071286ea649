/**
 * AWS's two shared files, `~/.aws/credentials` and `~/.aws/config`, as far as they hold keys.
 *
 * Source: AWS SDKs and Tools Reference, "Shared config and credentials files"; lines are read as AWS's SDK for JavaScript does.
 */

import { Secret } from '../secret.ts';
import type { AwsCredentials } from './signature.ts';

/** Real ones are not a tenth as long. */
export const SHARED_FILE_CHARS_MAX = 1024 * 1024;

/** Keys by which a profile leads to another source of credentials; these are not followed. */
const UNSUPPORTED_KEYS = ['credential_process', 'credential_source', 'login_session', 'role_arn', 'source_profile', 'sso_account_id', 'sso_session', 'sso_start_url'];

type Profile = ReadonlyMap<string, string>;

/**
 * The keys of a profile in the texts of the two files, undefined where there is no such file; or why there are none, as the end
 * of a sentence that begins with the profile. What the credentials file says counts first.
 */
export function parseSharedFiles(credentialsText: string | undefined, configText: string | undefined, profile: string): AwsCredentials | string {
  const [credentials, config] = [credentialsText ?? '', configText ?? ''];
  if (credentials.length > SHARED_FILE_CHARS_MAX || config.length > SHARED_FILE_CHARS_MAX) return 'is in a file of more than 1 MiB';
  const own = parseIni(credentials).get(profile);
  const sections = parseIni(config);
  const shared = sections.get(`profile ${profile}`) ?? (profile === 'default' ? sections.get(profile) : undefined);
  if (own === undefined && shared === undefined) return 'is in neither file';
  const read = (key: string): string | undefined => own?.get(key) || shared?.get(key);
  const unsupported = UNSUPPORTED_KEYS.find((key) => read(key) !== undefined);
  if (unsupported !== undefined) return `has ${unsupported}, which is not supported; only keys are`;
  const [accessKeyId, secretAccessKey] = [read('aws_access_key_id'), read('aws_secret_access_key')];
  if (accessKeyId === undefined || secretAccessKey === undefined) return 'has no aws_access_key_id with an aws_secret_access_key';
  const sessionToken = read('aws_session_token');
  if (/[^\x21-\x7e]/.test(accessKeyId + secretAccessKey + (sessionToken ?? ''))) return 'has a key with a character that no key has';
  return {
    accessKeyId,
    secretAccessKey: new Secret(secretAccessKey),
    sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
  };
}

/** Sections by name, of each its keys in lower case. What is indented belongs to a key that is not looked at. */
function parseIni(text: string): ReadonlyMap<string, Profile> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [said = ''] = line.split(/(?:^|\s)[#;]/, 1);
    const header = /^\s*\[([^\]]*)\]\s*$/.exec(said);
    if (header !== null) {
      const name = (header[1] ?? '').trim().replace(/^profile\s+"?([^"]*)"?$/, 'profile $1');
      section = sections.get(name) ?? new Map<string, string>();
      sections.set(name, section);
      continue;
    }
    const [, key, value] = /^([^\s=][^=]*)=(.*)$/.exec(said) ?? [];
    if (key !== undefined && value !== undefined) section?.set(key.trim().toLowerCase(), value.trim());
  }
  return sections;
}
