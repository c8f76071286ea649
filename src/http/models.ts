/** GET /v1/providers, GET /v1/models and GET /v1/models/{name}: whom and what a caller can ask for. */

import { renderJson } from '../base/json/render.ts';
import type { JsonOutObject } from '../base/json/value.ts';
import type { Provider } from '../core/adapter.ts';
import type { ModelInfo } from '../core/chat.ts';
import type { CallerDialect, ListedModel } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { targetName } from '../core/route.ts';
import { scopeFailure } from '../core/scope-failure.ts';
import { isAllowed, notAllowed } from './allowed.ts';
import { Deadline } from './deadline.ts';
import type { Exchange } from './exchange.ts';
import { takeLimits } from './limits.ts';
import type { ModelsAsker } from './model-lists.ts';
import type { ServerParts } from './parts.ts';
import { takePlace } from './place.ts';
import { choiceOf, nameOf, unknownProvider } from './target.ts';
import { traceHeaders } from './trace.ts';

/** What a model's name comes after. */
export const MODEL_PATH = '/v1/models/';

export async function answerProviders(exchange: Exchange, parts: ServerParts): Promise<void> {
  const providers = [...parts.providers.keys()].sort();
  const routes = routesFor(exchange, parts);
  exchange.sendJson(200, renderJson({ providers, default: parts.config.defaultProvider, routes: routes.length === 0 ? undefined : routes }));
}

/**
 * Whose path it is when dialects share one: those that are told by a header of the request, or else all that are told by
 * none. Who names a provider in the query asks in the gateway's own format.
 */
export function sharersOf(exchange: Exchange, dialects: ServerParts['dialects']): ServerParts['dialects'] {
  const [native, ...others] = dialects;
  if (providerIn(exchange.query) !== null) return [native];
  const [told, ...more] = dialects.filter(({ models: { header } }) => header !== undefined && exchange.header(header) !== undefined);
  if (told !== undefined) return [told, ...more];
  return [native, ...others.filter(({ models }) => models.header === undefined)];
}

/** Takes a place as a chat does: a long list is up to 50 calls. */
export async function answerModels(exchange: Exchange, parts: ServerParts): Promise<void> {
  if (!takePlace(exchange, parts) || !(await takeLimits(exchange, parts, 'models'))) return;
  const named = providerIn(exchange.query);
  if (named !== null) return answerLive(exchange, parts, named);
  const providers = [...parts.providers.values()];
  const outcomes = await parts.modelLists.of(providers, askerOf(exchange, parts));
  if (outcomes === undefined) return sendEnded(exchange);
  const failures = outcomes.filter((outcome) => outcome instanceof Failure);
  const lists = providers.flatMap((provider, index) => {
    const models = outcomes[index];
    return models === undefined || models instanceof Failure ? [] : [{ provider, models }];
  });
  const [failure] = failures;
  const routes = routesFor(exchange, parts).map(listedRoute);
  if (lists.length === 0 && routes.length === 0 && failure !== undefined) {
    exchange.sendFailure(parts.presentable(failure));
    return;
  }
  const missing = providers.filter((_, index) => outcomes[index] instanceof Failure).map(({ name }) => name);
  if (missing.length > 0) exchange.setHeader('X-Gateway-Ignored', missing.join(', '));
  sendMembers(exchange, parts, (dialect) => {
    const models = [...routes, ...lists.flatMap((list) => namedModels(exchange, dialect, list.provider, list.models, parts))];
    const defaultProvider = lists.find(({ provider }) => provider.name === parts.config.defaultProvider)?.provider.name;
    return dialect.models.list({ models, defaultProvider }, new URLSearchParams(exchange.query));
  });
}

/** One model, by the name that a request would have: with a provider as its prefix or without, slashes and all. */
export async function answerModel(exchange: Exchange, parts: ServerParts): Promise<void> {
  if (!takePlace(exchange, parts) || !(await takeLimits(exchange, parts, 'models'))) return;
  const model = decoded(exchange.path.slice(MODEL_PATH.length));
  if (model === undefined) {
    exchange.sendFailure(new Failure('bad_request', 'the path is not percent-encoded UTF-8'));
    return;
  }
  // Names are understood as a vendor's clients mean them; the gateway's own format comes first and has no names but a provider's.
  const dialect = sharersOf(exchange, parts.dialects).at(-1) ?? exchange.dialect;
  const asked = { provider: providerIn(exchange.query) ?? undefined, model, providerOptions: undefined };
  const chosen = choiceOf(dialect, asked, undefined, parts.providers, parts.config);
  const choice = chosen instanceof Failure ? chosen : (notAllowed(parts.config.routing, exchange, asked, chosen) ?? chosen);
  if (choice instanceof Failure) {
    exchange.sendFailure(choice);
    return;
  }
  const { route, targets: [target] } = choice;
  if (route !== undefined) {
    sendMembers(exchange, parts, ({ models: { one } }) => one(listedRoute(route.name)));
    return;
  }
  exchange.record.provider = target.provider.name;
  const outcomes = await parts.modelLists.of([target.provider], askerOf(exchange, parts));
  const [models] = outcomes ?? [];
  if (models === undefined) return sendEnded(exchange);
  if (models instanceof Failure) {
    exchange.sendFailure(parts.presentable(models));
    return;
  }
  const info = models.find(({ id }) => id === target.model);
  if (info === undefined) {
    exchange.sendFailure(new Failure('not_found', `${target.provider.name} lists no such model`));
    return;
  }
  sendMembers(exchange, parts, ({ models: { one } }) => one({ name: model, provider: target.provider.name, info }));
}

/** One provider's list as it is at this moment. */
async function answerLive(exchange: Exchange, parts: ServerParts, name: string): Promise<void> {
  const provider = parts.providers.get(name);
  if (provider === undefined) {
    exchange.sendFailure(unknownProvider(name));
    return;
  }
  exchange.record.provider = name;
  const deadline = new Deadline(exchange, parts.config, false);
  const models = await parts.gateway.models(provider, { ...askerOf(exchange, parts), deadline }).finally(() => deadline.clear());
  if (models instanceof Failure) {
    exchange.sendFailure(parts.presentable(models));
    return;
  }
  sendMembers(exchange, parts, (dialect) => {
    const listed = allowedOf(exchange, parts, provider, models).map((info) => ({ name: info.id, provider: name, info }));
    return dialect.models.list({ models: listed, defaultProvider: name }, new URLSearchParams());
  });
}

function askerOf({ scope, record, trace }: Exchange, { config }: ServerParts): ModelsAsker {
  return { scope, record, extraHeaders: config.propagatesTrace ? traceHeaders(trace) : undefined };
}

/** A provider's models under the names by which requests in this dialect reach them. */
function namedModels(exchange: Exchange, dialect: CallerDialect, provider: Provider, models: readonly ModelInfo[], parts: ServerParts): ListedModel[] {
  return allowedOf(exchange, parts, provider, models).flatMap((info) => {
    const name = nameOf(dialect, { provider, model: info.id }, parts.providers, parts.config);
    return name === undefined ? [] : [{ name, provider: provider.name, info }];
  });
}

/** Those that the caller may ask for. */
function allowedOf({ caller }: Exchange, { config: { routing } }: ServerParts, { name }: Provider, models: readonly ModelInfo[]): readonly ModelInfo[] {
  return models.filter(({ id }) => isAllowed(routing, caller, targetName({ provider: name, model: id })));
}

/** The routes that the caller may ask for. */
function routesFor({ caller }: Exchange, { config: { routing } }: ServerParts): readonly string[] {
  return [...routing.routes.keys()].filter((name) => isAllowed(routing, caller, name)).sort();
}

/** A route as a model: what can be said of all its targets is its name. */
function listedRoute(name: string): ListedModel {
  const info = { id: name, displayName: undefined, contextWindow: undefined, inputTokensMax: undefined, outputTokensMax: undefined, input: undefined, deprecatedAt: undefined };
  return { name, provider: undefined, info };
}

/** Answers with one object that has the members of every dialect whose path it is. */
function sendMembers(exchange: Exchange, { dialects }: ServerParts, membersOf: (dialect: CallerDialect) => JsonOutObject | Failure): void {
  let members: JsonOutObject = {};
  const done = new Set<CallerDialect['models']>();
  for (const dialect of sharersOf(exchange, dialects)) {
    // Two formats of one vendor have one form of lists.
    if (done.has(dialect.models)) continue;
    done.add(dialect.models);
    const some = membersOf(dialect);
    if (some instanceof Failure) {
      exchange.sendFailure(some);
      return;
    }
    members = { ...members, ...some };
  }
  exchange.sendJson(200, renderJson(members));
}

/** The caller is gone, or the gateway is. */
function sendEnded(exchange: Exchange): void {
  const { ended } = exchange.scope;
  if (ended !== undefined) exchange.sendFailure(scopeFailure(ended, 'GATEWAY_REQUEST_TIMEOUT'));
}

function providerIn(query: string): string | null {
  return query === '' ? null : new URLSearchParams(query).get('provider');
}

/** Undefined for what cannot be decoded. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
