/** The contract of contract.ts, for each provider over each transport. */

import { providerContract } from './contract.ts';

providerContract({ name: 'anthropic', provider: 'anthropic', transport: 'wire', form: 'plain' });
providerContract({ name: 'openai by chat', provider: 'openai', transport: 'wire', form: 'plain' });
providerContract({ name: 'gemini', provider: 'gemini', transport: 'wire', form: 'gemini' });
providerContract({ name: 'compat', provider: 'compat', transport: 'wire', form: 'plain' });
for (const transport of ['http', 'fetch'] as const) {
  providerContract({ name: 'anthropic', provider: 'anthropic', transport, form: 'plain' });
  providerContract({ name: 'openai by chat', provider: 'openai', transport, form: 'plain' });
  providerContract({ name: 'gemini', provider: 'gemini', transport, form: 'gemini' });
}
providerContract({ name: 'openai by responses', provider: 'openai', transport: 'wire', form: 'responses' });
