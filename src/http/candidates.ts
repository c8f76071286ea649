/** Those who may serve a request, each with the call that is made of it for them: relayed where both speak one dialect, else translated. */

import { hashText } from '../base/rendezvous.ts';
import type { UpstreamCall } from '../core/adapter.ts';
import { applyTarget, isUnchanging } from '../core/apply-target.ts';
import type { ChatRequest } from '../core/chat.ts';
import { checkConversation } from '../core/conversation.ts';
import type { CallerDialect, DecodedRequest, DialectRelay, Translation } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { Route } from '../core/route.ts';
import { tenantRequest } from '../core/tenant.ts';
import type { Ask } from '../gateway/ask.ts';
import type { Received } from './asked.ts';
import type { CallerCandidate, LeftOut } from './caller-candidate.ts';
import type { Exchange } from './exchange.ts';
import type { ServerParts } from './parts.ts';
import { allowsStored } from './stored.ts';
import type { Target } from './target.ts';

/** What is asked of providers: an answer, or a count. */
export type Question = {
  /** Below the base URL of a provider that such a request is relayed to; undefined = it is translated for all. */
  relayPath(relay: DialectRelay): string | undefined;
  encode(provider: Target['provider'], request: ChatRequest): UpstreamCall | Failure;
};

/** What the gateway is to ask, or the failure for what no target of the route can be asked. */
// hot: per request
export function askOf(exchange: Exchange, parts: ServerParts, { decoded, choice }: Pick<Received, 'decoded' | 'choice'>, question: Question): Ask<CallerCandidate> | Failure {
  const { route, targets } = choice;
  const problem = route === undefined ? undefined : optionsProblem(route, targets, decoded);
  if (problem !== undefined) return problem;
  const translated = translator(exchange, decoded, targets[0].model);
  const relayed = targets.find((target) => isRelayable(target, exchange.dialect));
  const asking = { exchange, parts, decoded, question, translated };
  const candidateOf = (target: Target): CallerCandidate => createCandidate(asking, target, relayFor(target, relayed, exchange.dialect));
  const candidates: Ask<CallerCandidate>['candidates'] =
    targets.length === 1 ? [candidateOf(targets[0])] : [candidateOf(targets[0]), ...targets.slice(1).map(candidateOf)];
  return {
    route,
    candidates,
    conversation: () => conversationOf(exchange, decoded),
    loopProvider: targets.length === 1 ? undefined : loopProviderOf(decoded, candidates),
  };
}

/** What a target sets or leaves out, it does of a chat: such a one is sent a translation. */
function isRelayable({ provider, target }: Target, dialect: CallerDialect): boolean {
  return provider.speaks.includes(dialect.name) && (target === undefined || isUnchanging(target));
}

/**
 * How the target is relayed to; undefined = it is sent a translation. Only the account that sealed some reasoning can read it, and a
 * relayed history does not say which one that was, as a translated one does. So where answers are sealed, one account of a
 * route is relayed to: that of `relayed`, the first that could be.
 */
function relayFor(target: Target, relayed: Target | undefined, dialect: CallerDialect): DialectRelay | undefined {
  if (relayed === undefined || !isRelayable(target, dialect)) return undefined;
  const isItsAccount = target.provider.name === relayed.provider.name;
  return isItsAccount || dialect.relay?.sealsForAccount !== true ? dialect.relay : undefined;
}

/** What would put another model in a target's place, whose failures would be held against the target. */
const DECIDED_OPTIONS = ['model', 'models'];

/** A patch fits the payloads of one kind of provider, so all targets that are sent it have to be of one. */
function optionsProblem(route: Route, targets: readonly Target[], { providerOptions }: DecodedRequest): Failure | undefined {
  if (providerOptions === undefined) return undefined;
  const patched = targets.filter(({ target }) => target?.omit.includes('provider_options') !== true);
  const decided = patched.length === 0 ? undefined : DECIDED_OPTIONS.find((name) => providerOptions.entries.has(name));
  if (decided !== undefined) return new Failure('bad_request', `provider_options.${decided}: not allowed, since route ${route.name} decides it`);
  if (new Set(patched.map(({ provider }) => provider.adapter.dialect)).size <= 1) return undefined;
  return new Failure('bad_request', `provider_options: the targets of route ${route.name} are of several kinds; put them in a target's defaults`);
}

/** So much of each text is hashed: 3 µs. */
const HEAD_CHARS = 128;

/** A hash of the caller and of how the conversation begins: the same in each of its requests. */
function conversationOf({ caller }: Exchange, decoded: DecodedRequest): number {
  const { system, user } = decoded.head();
  return hashText(`${caller}\n${system.slice(0, HEAD_CHARS)}\n${user.slice(0, HEAD_CHARS)}`);
}

/** The provider whose state an open tool loop carries. State in the vendor's own form is from whoever is relayed to. */
function loopProviderOf(decoded: DecodedRequest, candidates: readonly CallerCandidate[]): string | undefined {
  const owner = decoded.loopOwner();
  return owner === 'relayed' ? candidates.find(({ relay }) => relay !== undefined)?.provider.name : owner?.provider;
}

/** A request as a chat, for whoever serves it. */
type Translated = Pick<Translation, 'request' | 'ignored' | 'told'>;

/** Translates once, and only where somebody needs it. */
function translator(exchange: Exchange, decoded: DecodedRequest, model: string): () => Translated | Failure {
  let translated: Translated | Failure | undefined;
  return () => (translated ??= translate(exchange, decoded, model));
}

function translate({ caller }: Exchange, decoded: DecodedRequest, model: string): Translated | Failure {
  const translation = decoded.translate(model);
  if (translation instanceof Failure) return translation;
  const request = tenantRequest(translation.request, caller);
  if (request instanceof Failure) return request;
  const breach = checkConversation(request.turns);
  return breach === undefined ? { ...translation, request } : toldBy(translation, breach);
}

function toldBy({ told }: Translated, failure: Failure): Failure {
  return told === undefined ? failure : failure.with({ message: told(failure.message) });
}

/** What calls are made of, whoever they are for. */
type Asking = {
  readonly exchange: Exchange;
  readonly parts: ServerParts;
  readonly decoded: DecodedRequest;
  readonly question: Question;
  readonly translated: () => Translated | Failure;
};

function createCandidate(asking: Asking, target: Target, relay: DialectRelay | undefined): CallerCandidate {
  const { provider, model } = target;
  const path = relay && asking.question.relayPath(relay);
  const way = relay === undefined || path === undefined ? undefined : { relay, path };
  const left: LeftOut = { ignored: [], omitted: [] };
  let call: UpstreamCall | Failure | undefined;
  return {
    provider,
    model,
    target: target.target,
    relay: way?.relay,
    left,
    prepare() {
      if (way === undefined) asking.translated();
    },
    call() {
      if (call !== undefined) return call;
      call = way === undefined ? encodeTranslated(asking, target, left) : encodeRelayed(asking, target, way, left);
      if (!(call instanceof Failure)) countIgnored(asking.exchange, asking.parts, left);
      return call;
    },
  };
}

function encodeTranslated({ translated, question }: Asking, { provider, model, target }: Target, left: LeftOut): UpstreamCall | Failure {
  const translation = translated();
  if (translation instanceof Failure) return translation;
  const { request } = translation;
  const named = request.model === model ? request : { ...request, model };
  const applied = target === undefined ? undefined : applyTarget(named, target);
  const call = question.encode(provider, applied?.request ?? named);
  if (call instanceof Failure) return toldBy(translation, call);
  left.ignored = translation.ignored;
  left.omitted = applied?.omitted ?? left.omitted;
  return call;
}

/** The caller's own request, to that path of a provider that speaks its dialect. */
function encodeRelayed(
  { exchange, parts, decoded }: Asking,
  { provider, model }: Target,
  { relay, path }: { readonly relay: DialectRelay; readonly path: string },
  left: LeftOut,
): UpstreamCall | Failure {
  const rules = { caller: exchange.caller, allowsStored: allowsStored(parts), isVendor: provider.name === exchange.dialect.vendor };
  const relayed = relay.encode(decoded, model, rules);
  if (relayed instanceof Failure) return relayed;
  left.ignored = relayed.ignored;
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: decoded.isStream ? 'text/event-stream' : 'application/json' };
  for (const name of Object.keys(relay.headers)) {
    const value = exchange.header(name) ?? relay.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return { method: 'POST', path, headers, body: relayed.body };
}

/** Of a path: `tools` of `tools[0].name`. */
const FIRST_NAME = /^[^.[]*/;
/** Those that are not named: no path begins so. */
const REST = /^\+(\d+)$/;

function countIgnored({ dialect }: Exchange, { metrics }: ServerParts, { ignored }: LeftOut): void {
  for (const path of ignored) {
    const name = FIRST_NAME.exec(path)?.[0] ?? '';
    metrics.ignoredField(dialect.name, dialect.fieldNames.has(name) ? name : 'other', Number(REST.exec(path)?.[1] ?? 1));
  }
}
