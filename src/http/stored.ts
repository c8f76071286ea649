/** References in `provider_options` to what another caller may have stored at the provider. In what is relayed its dialect looks for them. */

import type { DecodedRequest } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import { OPAQUE, storedItem, storedProblem } from '../core/stored.ts';
import type { ServerParts } from './parts.ts';

/** Those of all formats of providers: which one a patch is for does not matter to what it may name. */
const FIELDS = {
  stored: new Set([
    'previous_response_id', 'comparison_response_id', 'previous_message_id', 'conversation', 'file_id', 'file_ids', 'vector_store_ids',
    'container', 'container_id', 'skill_id', 'tunnel_id', 'user_profile_id', 'cachedContent', 'cached_content',
    'fileSearchStoreNames', 'file_search_store_names', 'datastore', 'dataStore', 'data_store', 'ragCorpora', 'rag_corpora', 'ragCorpus', 'rag_corpus',
    // By these Vertex signs what it sends to a host that the request names (Vertex AI, ExternalApi).
    'apiKeySecret', 'api_key_secret', 'apiKeySecretVersion', 'api_key_secret_version', 'credentialSecret', 'credential_secret', 'serviceAccount', 'service_account',
  ]),
  storedById: new Set(['audio', 'container', 'conversation', 'prompt', 'voice']),
  opaque: new Set([...OPAQUE, 'metadata']),
} as const;

/** Whether callers may name what is stored: the operator allows it, or there is nobody else who could have stored it. */
export function allowsStored({ config, authenticate }: Pick<ServerParts, 'config' | 'authenticate'>): boolean {
  return config.relaysStored || (config.callers.length <= 1 && authenticate === undefined);
}

/** The failure for a patch that refers to what is stored; undefined = it does not, or may. */
// hot: per request
export function patchedStored(parts: Pick<ServerParts, 'config' | 'authenticate'>, { providerOptions }: Pick<DecodedRequest, 'providerOptions'>): Failure | undefined {
  if (providerOptions === undefined || allowsStored(parts)) return undefined;
  const path = { parent: undefined, key: 'provider_options' };
  return storedProblem(providerOptions, path, FIELDS) ?? storedItem(providerOptions.entries.get('input'), { parent: path, key: 'input' });
}
