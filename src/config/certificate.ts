/** The certificate that the gateway serves HTTPS with, and its key: two files that OpenSSL takes, and that are a pair. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { SecureContextOptions } from 'node:tls';
import { Secret } from '../base/secret.ts';
import type { Source } from './source.ts';

/** Both in PEM. */
export type Certificate = { readonly cert: string; readonly key: Secret };

/** Undefined where there is none, and where one is bad, which is then among the problems. */
export function certificateFrom(source: Source, certFile: string | undefined, keyFile: string | undefined): Certificate | undefined {
  const { problems } = source;
  if (certFile === undefined && keyFile === undefined) return undefined;
  const [certName, keyName] = [source.nameOf('GATEWAY_TLS_CERT_FILE'), source.nameOf('GATEWAY_TLS_KEY_FILE')];
  if (keyFile === undefined) problems.push(`${keyName}: required, because ${certName} is set`);
  if (certFile === undefined) problems.push(`${certName}: required, because ${keyName} is set`);
  const cert = readPem(source, certName, certFile, 'a certificate', (pem) => ({ cert: pem }));
  const key = readPem(source, keyName, keyFile, 'a private key without a passphrase', (pem) => ({ key: pem }));
  if (cert === undefined || key === undefined) return undefined;
  // A secure context takes a key of another kind than its certificate's, with which no handshake would succeed.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) problems.push(`${keyName}: is not the key of the certificate in ${certName}`);
  return { cert, key: new Secret(key) };
}

/** The file's text; undefined when OpenSSL does not take it, which is then among the problems. */
function readPem(source: Source, name: string, path: string | undefined, expects: string, contextOf: (pem: string) => SecureContextOptions): string | undefined {
  const pem = path === undefined ? undefined : source.readFile(name, path);
  if (pem === undefined) return undefined;
  // An empty text would count as absent.
  if (pem !== '' && isSecureContext(contextOf(pem))) return pem;
  source.problems.push(`${name}: expected ${expects} in PEM`);
  return undefined;
}

function isSecureContext(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}
