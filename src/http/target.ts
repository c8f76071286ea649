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
  decoded: DecodedRequest,
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
  const slash = model.indexOf('/');
  if (slash > 0 && slash < model.length - 1 && (configured.takesModelPrefixes ?? dialect.takesModelPrefixes)) {
    const provider = providers.get(model.slice(0, slash));
    if (provider !== undefined) return { provider, model: model.slice(slash + 1) };
  }
  const byDefault = providers.get(configured.defaultProvider);
  const own = dialect.vendor === undefined ? undefined : providers.get(dialect.vendor);
  const isDefaultPreferred = own === undefined || (configured.isDefaultChosen && byDefault?.speaks.includes(dialect.name) === true);
  const provider = isDefaultPreferred ? byDefault : own;
  return provider === undefined ? unknownProvider(configured.defaultProvider) : { provider, model };
}

/** The failure for a provider's name that is not registered. The name is the caller's text: quoted and cut. */
export function unknownProvider(name: string): Failure {
  return new Failure('not_found', `provider: ${JSON.stringify(name.slice(0, 64))} is not registered on this gateway`);
}
