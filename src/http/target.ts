/** Who is to serve a request, and under which name each of them knows the model. */

import type { Config } from '../config/config.ts';
import type { Provider } from '../core/adapter.ts';
import type { CallerDialect, DecodedRequest } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { Route } from '../core/route.ts';
import type { Candidate } from '../gateway/ask.ts';

/** Somebody who may serve, before anything was made of the request for it. */
export type Target = Omit<Candidate, 'call' | 'relay'>;

export type Choice = {
  /** Undefined where the request names its provider, or leaves it to the default. */
  readonly route: Route | undefined;
  /** In the operator's order of preference. */
  readonly targets: readonly [Target, ...Target[]];
};

type Configured = Pick<Config, 'defaultProvider' | 'isDefaultChosen' | 'takesModelPrefixes' | 'routing'>;

/**
 * In this order: the provider that the request names, in its body or in the header `X-Gateway-Provider`; the route that has
 * the model's name; the model's prefix up to its first slash, where a provider has that name; the operator's default where it
 * speaks the dialect; the dialect's own vendor; the default. A named provider that is not registered is a not_found.
 */
// hot: per request
export function choiceOf(
  dialect: CallerDialect,
  decoded: Pick<DecodedRequest, 'provider' | 'model'>,
  header: string | undefined,
  providers: ReadonlyMap<string, Provider>,
  configured: Configured,
): Choice | Failure {
  const { model } = decoded;
  const named = decoded.provider ?? header;
  if (named !== undefined) return single(providers.get(named), named, model);
  const route = configured.routing.routes.get(model);
  if (route !== undefined) return { route, targets: targetsOf(route, providers) };
  const prefixed = takesPrefixes(dialect, configured) ? prefixedTarget(model, providers) : undefined;
  if (prefixed !== undefined) return { route: undefined, targets: [prefixed] };
  return single(providerOfUnnamed(dialect, providers, configured), configured.defaultProvider, model);
}

function single(provider: Provider | undefined, name: string, model: string): Choice | Failure {
  return provider === undefined ? unknownProvider(name) : { route: undefined, targets: [{ provider, model, target: undefined }] };
}

/** A configuration whose routes lead to nobody is refused when it is read. */
function targetsOf(route: Route, providers: ReadonlyMap<string, Provider>): Choice['targets'] {
  const [first, ...others] = route.targets.map((target): Target => {
    const provider = providers.get(target.provider);
    if (provider === undefined) throw new Error(`route ${route.name} leads to a provider that is not configured`);
    return { provider, model: target.model, target };
  });
  if (first === undefined) throw new Error(`route ${route.name} leads nowhere`);
  return [first, ...others];
}

/** What a request in this dialect has to say as its model for `choiceOf` to find that one alone; undefined = nothing would. */
export function nameOf(
  dialect: CallerDialect,
  { provider, model }: Pick<Target, 'provider' | 'model'>,
  providers: ReadonlyMap<string, Provider>,
  configured: Configured,
): string | undefined {
  if (takesPrefixes(dialect, configured)) {
    const isAmbiguous = providers.size > 1 || prefixedTarget(model, providers) !== undefined || configured.routing.routes.has(model);
    return isAmbiguous ? `${provider.name}/${model}` : model;
  }
  const isReached = providerOfUnnamed(dialect, providers, configured) === provider && !configured.routing.routes.has(model);
  return isReached ? model : undefined;
}

function takesPrefixes(dialect: CallerDialect, configured: Configured): boolean {
  return configured.takesModelPrefixes ?? dialect.takesModelPrefixes;
}

function prefixedTarget(model: string, providers: ReadonlyMap<string, Provider>): Target | undefined {
  const slash = model.indexOf('/');
  if (slash <= 0 || slash === model.length - 1) return undefined;
  const provider = providers.get(model.slice(0, slash));
  return provider && { provider, model: model.slice(slash + 1), target: undefined };
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
  return new Failure('not_found', `provider: ${quote} is not registered on this gateway; GET /v1/providers lists those that are`, { quotes: [quote] });
}
