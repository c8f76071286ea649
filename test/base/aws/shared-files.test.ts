import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSharedFiles, SHARED_FILE_CHARS_MAX } from '../../../src/base/aws/shared-files.ts';

const CREDENTIALS = `
# of this machine
[default]
aws_access_key_id = AKIDDEFAULT
aws_secret_access_key=secret/of+default=

[work] ; with a session
AWS_ACCESS_KEY_ID = AKIDWORK # inline
aws_secret_access_key = work
aws_session_token = session==
`;

const CONFIG = `
[default]
region = eu-west-1

[profile work]
aws_access_key_id = AKIDCONFIG
s3 =
  aws_session_token = nested

[profile "quoted name"]
aws_access_key_id = AKIDQUOTED
aws_secret_access_key = quoted

[profile role]
role_arn = arn:aws:iam::1:role/x
aws_access_key_id = AKIDROLE
aws_secret_access_key = role

[profile empty]
region = eu-west-1
`;

/** The keys as text, or what is wrong. */
function keysOf(profile: string, credentials: string | undefined = CREDENTIALS, config: string | undefined = CONFIG): string {
  const keys = parseSharedFiles(credentials, config, profile);
  return typeof keys === 'string' ? keys : [keys.accessKeyId, keys.secretAccessKey.reveal(), keys.sessionToken?.reveal()].join(' ');
}

test('parseSharedFiles reads a profile of the credentials file, comments left out', () => {
  assert.equal(keysOf('default'), 'AKIDDEFAULT secret/of+default= ');
  assert.equal(keysOf('default', CREDENTIALS.replaceAll('\n', '\r\n')), 'AKIDDEFAULT secret/of+default= ');
});

test('parseSharedFiles lets the credentials file win over the config file', () => {
  assert.equal(keysOf('work'), 'AKIDWORK work session==');
});

test('parseSharedFiles reads a profile that only the config file has', () => {
  assert.equal(keysOf('quoted name'), 'AKIDQUOTED quoted ');
  assert.equal(keysOf('quoted name', ''), 'AKIDQUOTED quoted ');
});

test('parseSharedFiles does not read what is indented', () => {
  assert.equal(keysOf('work', ''), 'has no aws_access_key_id with an aws_secret_access_key');
});

test('parseSharedFiles says what is wrong with a profile without quoting the files', () => {
  assert.equal(keysOf('nobody'), 'is in neither file');
  assert.equal(keysOf('profile work'), 'is in neither file');
  assert.equal(keysOf('role'), 'has role_arn, which is not supported; only keys are');
  assert.equal(keysOf('empty'), 'has no aws_access_key_id with an aws_secret_access_key');
  for (const line of ['aws_access_key_id = AK\u200bID', 'aws_secret_access_key = s s', 'aws_session_token = t\u0416']) {
    const keys = '[default]\naws_access_key_id = AKID\naws_secret_access_key = s\n';
    assert.equal(keysOf('default', `${keys}${line}\n`, ''), 'has a key with a character that no key has', line);
  }
  for (const key of ['credential_process', 'credential_source', 'login_session', 'role_arn', 'source_profile', 'sso_account_id', 'sso_session', 'sso_start_url']) {
    assert.equal(keysOf('work', undefined, `[profile work]\n${key} = x\n`), `has ${key}, which is not supported; only keys are`);
  }
  const long = 'x'.repeat(SHARED_FILE_CHARS_MAX + 1);
  assert.deepEqual([keysOf('default', long), keysOf('default', '', long)], ['is in a file of more than 1 MiB', 'is in a file of more than 1 MiB']);
});

test('parseSharedFiles keeps to the own keys of an object whatever a file says', () => {
  assert.equal(keysOf('__proto__', '[__proto__]\naws_access_key_id = A\naws_secret_access_key = B\n', ''), 'A B ');
});

test('the default profile of the config file may be spelt like the others', () => {
  assert.match(keysOf('default', '', '[default]\naws_access_key_id = AKIDALONE\naws_secret_access_key = s\n'), /AKIDALONE/);
  assert.match(keysOf('default', '', '[ default ]\n# aws_access_key_id = AKIDNONE\naws_access_key_id = AKIDALONE\naws_secret_access_key = s\n'), /AKIDALONE/);
  assert.match(keysOf('default', '', '[profile default]\naws_access_key_id = AKIDSPELT\naws_secret_access_key = s\n'), /AKIDSPELT/);
});
