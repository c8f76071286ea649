/** The contract of contract.ts, for each provider over each transport. */

import { providerContract } from './contract.ts';

for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) providerContract(provider, 'http');
for (const provider of ['anthropic', 'openai', 'gemini']) providerContract(provider, 'fetch');
providerContract('openai', 'http', 'responses');
