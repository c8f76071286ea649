/** An RSA key of the tests' own. */

import { generateKeyPairSync } from 'node:crypto';

export const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });

export const RSA_PEM = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
