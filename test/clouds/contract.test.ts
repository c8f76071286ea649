/** The contract of every provider, for the clouds, each by other credentials than a key. */

import { providerContract } from '../contract.ts';
import { AZURE, BEDROCK, CLAUDE_AWS, FOUNDRY, VERTEX } from './environments.ts';

providerContract({ name: 'azure', provider: 'azure', transport: 'http', form: 'plain', environment: AZURE });
providerContract({ name: 'foundry', provider: 'foundry', transport: 'fetch', form: 'plain', environment: FOUNDRY });
providerContract({ name: 'bedrock by InvokeModel', provider: 'bedrock', transport: 'http', form: 'plain', environment: BEDROCK, modelOf: (name) => `us.anthropic.${name}-v1:0` });
providerContract({ name: 'bedrock by Messages', provider: 'bedrock', transport: 'fetch', form: 'plain', environment: BEDROCK, modelOf: (name) => `anthropic.${name}` });
providerContract({ name: 'claude-aws', provider: 'claude-aws', transport: 'http', form: 'plain', environment: CLAUDE_AWS });
providerContract({ name: 'gemini on vertex', provider: 'vertex', transport: 'http', form: 'gemini', environment: VERTEX });
providerContract({ name: 'claude on vertex', provider: 'vertex', transport: 'http', form: 'plain', environment: VERTEX, modelOf: (name) => `claude-${name}` });
