/** The contract of contract.ts, for each provider over each transport. */

import { providerContract } from './contract.ts';

providerContract({ name: 'anthropic', provider: 'anthropic', transport: 'http', form: 'plain' });
providerContract({ name: 'openai by chat', provider: 'openai', transport: 'http', form: 'plain' });
providerContract({ name: 'gemini', provider: 'gemini', transport: 'http', form: 'gemini' });
providerContract({ name: 'compat', provider: 'compat', transport: 'http', form: 'plain' });
for (const transport of ['wire', 'fetch'] as const) {
  providerContract({ name: 'anthropic', provider: 'anthropic', transport, form: 'plain' });
  providerContract({ name: 'openai by chat', provider: 'openai', transport, form: 'plain' });
  providerContract({ name: 'gemini', provider: 'gemini', transport, form: 'gemini' });
}
providerContract({ name: 'openai by responses', provider: 'openai', transport: 'http', form: 'responses' });
