/** The contract of every provider, for every route of the clouds, each by other credentials than a key; one transport each. */

import { providerContract } from '../contract.ts';
import { CLOUD_ROUTES } from './environments.ts';

const TRANSPORTS = ['http', 'fetch', 'wire'] as const;

for (const [index, { title, provider, environment, named, form }] of CLOUD_ROUTES.entries()) {
  providerContract({ name: title, provider, transport: TRANSPORTS[index % 3] ?? 'http', form, environment, modelOf: named });
}
