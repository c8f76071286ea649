/** The contract of every provider, for every route of the clouds, each by other credentials than a key; one transport each. */

import { providerContract } from '../contract.ts';
import { CLOUD_ROUTES } from './environments.ts';

for (const [index, { title, provider, environment, named, form }] of CLOUD_ROUTES.entries()) {
  providerContract({ name: title, provider, transport: index % 2 === 0 ? 'http' : 'fetch', form, environment, modelOf: named });
}
