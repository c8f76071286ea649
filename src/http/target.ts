/** Who is to serve a request, and under which name that provider knows the model. */

import type { Config } from '../config/settings.ts';
import type { Provider } from '../core/adapter.ts';
import type { CallerDialect, DecodedRequest } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';

export type Target = { readonly provider: Provider; readonly model: string };

type Configured = Pick<Config, 'defaultProvider' | 'isDefaultChosen' | 'takesModelPrefixes'>;

/**
 * In this order: the provider that the request names, in its body or in the header `X-Gateway-Provider`; the model's prefix
 * up to its first slash, where a provider has that name; the operator's default where it speaks the dialect; the dialect's
 * own maker; the default. A named provider that is not registered is a not_found.
 */
// hot: per request
export function targetOf(
  dialect: CallerDialect,
  decoded: Pick<DecodedRequest, 'provider' | 'model'>,
  header: string | undefined,
  providers: ReadonlyMap<string, Provider>,
  configured: Configured,
): Target | Failure {
  const { model } = decoded;
  const named = decoded.provider ?? header;
  if (named !== undefined) {
    const provider = providers.get(named);
    return provider === undefined ? unknownProvider(named) : { provider, model };
  }
  const prefixed = takesPrefixes(dialect, configured) ? prefixedTarget(model, providers) : undefined;
  if (prefixed !== undefined) return prefixed;
  const provider = providerOfUnnamed(dialect, providers, configured);
  return provider === undefined ? unknownProvider(configured.defaultProvider) : { provider, model };
}

/** What a request in this dialect has to say as its model for `targetOf` to find that one; undefined = nothing would. */
export function nameOf(
  dialect: CallerDialect,
  { provider, model }: Target,
  providers: ReadonlyMap<string, Provider>,
  configured: Configured,
): string | undefined {
  if (takesPrefixes(dialect, configured)) {
    const isAmbiguous = providers.size > 1 || prefixedTarget(model, providers) !== undefined;
    return isAmbiguous ? `${provider.name}/${model}` : model;
  }
  return providerOfUnnamed(dialect, providers, configured) === provider ? model : undefined;
}

function takesPrefixes(dialect: CallerDialect, configured: Configured): boolean {
  return configured.takesModelPrefixes ?? dialect.takesModelPrefixes;
}

function prefixedTarget(model: string, providers: ReadonlyMap<string, Provider>): Target | undefined {
  const slash = model.indexOf('/');
  if (slash <= 0 || slash === model.length - 1) return undefined;
  const provider = providers.get(model.slice(0, slash));
  return provider && { provider, model: model.slice(slash + 1) };
}

/** Who serves a request that names nobody. */
function providerOfUnnamed(dialect: CallerDialect, providers: ReadonlyMap<string, Provider>, configured: Configured): Provider | undefined {
  const byDefault = providers.get(configured.defaultProvider);
  const own = dialect.vendor === undefined ? undefined : providers.get(dialect.vendor);
  const isDefaultPreferred = own === undefined || (configured.isDefaultChosen && byDefault?.speaks.includes(dialect.name) === true);
  return isDefaultPreferred ? byDefault : own;
}

/** The failure for a provider's name that is not registered. The name is the caller's text: quoted and cut. */
export function unknownProvider(name: string): Failure {
  const quote = JSON.stringify(name.slice(0, 64));
  return new Failure('not_found', `provider: ${quote} is not registered on this gateway`, { quotes: [quote] });
}
