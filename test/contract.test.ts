/** The contract of contract.ts, for each provider over each transport. */

import { providerContract } from './contract.ts';

for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) providerContract(provider, 'http');
for (const provider of ['anthropic', 'openai', 'gemini']) for (const transport of ['wire', 'fetch'] as const) providerContract(provider, transport);
providerContract('openai', 'http', 'responses');
