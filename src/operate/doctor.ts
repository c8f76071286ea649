/**
 * Whether each configured provider can be reached and takes its key: real calls over the real transport, one attempt each, and
 * what was seen on their way. The checks of a provider follow one another; what depends on one that failed is left out.
 */

import { isIP } from 'node:net';
import { bounded, createLiveRedactor, createRedactor } from '../base/redact.ts';
import { hostnameOf } from '../base/proxy-address.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { decodeChatRequest } from '../callers/native/request.ts';
import type { ChatRequest } from '../callers/native/wire.ts';
import type { Config } from '../config/config.ts';
import type { Provider } from '../core/adapter.ts';
import type { ModelInfo } from '../core/chat.ts';
import { Failure } from '../core/failure.ts';
import { sentenceOf } from '../core/failure-sentence.ts';
import { Scope } from '../core/scope.ts';
import { askOne } from '../gateway/ask.ts';
import { createCallRecord } from '../gateway/call-record.ts';
import { createGateway } from '../gateway/gateway.ts';
import type { CallContext, Gateway } from '../gateway/gateway.ts';
import { createMetrics } from '../metrics.ts';
import { proxyFor } from '../upstream/proxy.ts';
import { createLookout } from './lookout.ts';
import type { Lookout, Sight, World } from './lookout.ts';
import { originOf, placeOf, remedyFor } from './remedy.ts';
import type { CheckName, FailedCheckName, Origin, Written } from './remedy.ts';

/** Longest waits, whatever longer ones requests are allowed: somebody sits and watches. */
const CONNECT_MS_MAX = 10_000;
const ATTEMPT_MS_MAX = 30_000;
const PROVIDER_MS_MAX = 120_000;
/** Providers examined at once: all of a usual configuration, and few enough for any machine. */
const AT_ONCE_MAX = 8;
/** A list also names models that do not chat; these refuse at no cost, and the next one is asked. */
const MODELS_ASKED_MAX = 5;
/** One token shows all there is to see. Some models refuse to stop so early; none of them wants more than 16. */
const TOKENS_ASKED = [1, 16] as const;
/** `Retry-After` as a date, log lines, and the signatures of clouds go by the clock; the last bear five minutes. */
const SKEW_MS_MAX = 30_000;
/** Longest piece of others' text that is shown: a model's name, an authority. */
const SHOWN_CHARS_MAX = 64;

export type Check = {
  readonly check: CheckName;
  readonly ok: boolean;
  /** How long it took, in milliseconds. */
  readonly ms?: number;
  readonly detail?: string;
  /** Which variable to mend, and how. */
  readonly remedy?: string;
};

export type Diagnosis = {
  readonly provider: string;
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** Of credentials that are no key: where they come from, for how many seconds they are good, and by how many the clock was corrected. */
  readonly source?: string;
  readonly expires_in?: number;
  readonly clock_skew?: number;
};

export type Report = { readonly ok: boolean; readonly providers: readonly Diagnosis[] };

/** Undefined = no chat. Else models by provider; one that is not in it is asked with models of its own list. */
export type ChatWish = ReadonlyMap<string, string> | undefined;

/** Everything that examining one provider takes. */
type Practice = {
  readonly config: Config;
  readonly written: Written;
  readonly lookout: Lookout;
  readonly gateway: Gateway;
  readonly chat: ChatWish;
  readonly redact: (text: string) => string;
};

type Examined<T> = { readonly outcome: T | Failure; readonly ms: number };

/** What came of the calls with one key: the last two are undefined where they were not made. */
type KeyExamined = {
  /** The provider with this key alone. */
  readonly provider: Provider;
  readonly models: Examined<readonly ModelInfo[]>;
  readonly answer: Examined<string> | undefined;
  readonly json: Examined<true> | undefined;
};

/** Examines every provider. `world` is for tests. */
export async function examineProviders(config: Config, written: Written, chat: ChatWish, world: World = {}): Promise<Report> {
  const lookout = createLookout(config, world);
  const settings = {
    connectTimeoutMs: Math.min(config.connectTimeoutMs, CONNECT_MS_MAX),
    attemptTimeoutMs: Math.min(config.attemptTimeoutMs, ATTEMPT_MS_MAX),
    streamIdleTimeoutMs: ATTEMPT_MS_MAX,
    retryPolicy: { retriesMax: 0, baseDelayMs: 0, maxDelayMs: 0, retryAfterCapMs: 0 },
  };
  const metrics = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
  const gateway = createGateway(settings, lookout.transport, metrics, () => undefined);
  const keys = config.providers.flatMap((provider) => provider.keys.map(({ secret }) => secret));
  const [redact, redactLive] = [createRedactor(keys), createLiveRedactor(lookout.secrets)];
  const practice = { config, written, lookout, gateway, chat, redact: (text: string) => redactLive(redact(text)) };
  const providers = await mapBounded(config.providers, AT_ONCE_MAX, (provider) => examine(provider, practice));
  lookout.transport.close();
  return { ok: providers.every(({ ok }) => ok), providers };
}

async function mapBounded<T, R>(items: readonly T[], atOnceMax: number, map: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await map(item);
  };
  await Promise.all(Array.from({ length: atOnceMax }, work));
  return results;
}

async function examine(provider: Provider, practice: Practice): Promise<Diagnosis> {
  const scope = new Scope();
  const timer = setTimeout(() => scope.end('deadline'), PROVIDER_MS_MAX);
  const record = createCallRecord('doctor');
  const context: CallContext = { scope, record, deadline: { atMs: performance.now() + PROVIDER_MS_MAX, setting: 'an examination' } };
  const startedAtMs = performance.now();
  const [firstKey, ...otherKeys] = provider.keys;
  const first = await examineKey(firstKey === undefined ? provider : { ...provider, keys: [firstKey] }, practice, context);
  const others: KeyExamined[] = [];
  if (!isCut(first.models.outcome, provider, practice)) {
    for (const key of otherKeys) others.push(await examineKey({ ...provider, keys: [key] }, practice, context));
  }
  clearTimeout(timer);
  const checks = checksOf(startedAtMs, first, others, practice);
  return { provider: provider.name, ok: checks.every(({ ok }) => ok), checks, ...credentialFacts(provider, practice) };
}

/** Asks with the one key that the provider has here. */
async function examineKey(provider: Provider, practice: Practice, context: CallContext): Promise<KeyExamined> {
  const models = await timed(() => practice.gateway.models(provider, context));
  const isAsked = practice.chat !== undefined && !isCut(models.outcome, provider, practice);
  const answer = isAsked ? await timed(() => askForChat(provider, models.outcome, practice, context)) : undefined;
  const model = answer?.outcome;
  const json = typeof model === 'string' ? await timed(() => askForJson(provider, model, practice, context)) : undefined;
  return { provider, models, answer, json };
}

function credentialFacts({ name }: Provider, { lookout }: Practice): Pick<Diagnosis, 'source' | 'expires_in' | 'clock_skew'> {
  const credentials = lookout.credentialsOf(name);
  if (credentials === undefined) return {};
  const { source, expiresInMs, clockSkewMs } = credentials.report;
  const skewMs = clockSkewMs || (lookout.seenOf(name).skewMs ?? 0);
  return { source, ...(expiresInMs === undefined ? {} : { expires_in: Math.round(expiresInMs / 1000) }), clock_skew: Math.round(skewMs / 1000) };
}

async function timed<T>(run: () => Promise<T | Failure>): Promise<Examined<T>> {
  const startedAtMs = performance.now();
  return { outcome: await run(), ms: Math.round(performance.now() - startedAtMs) };
}

/** The model that answered. Where the operator named none, the first of the provider's own list that does. */
async function askForChat(
  provider: Provider,
  models: readonly ModelInfo[] | Failure,
  practice: Practice,
  context: CallContext,
): Promise<string | Failure> {
  const named = practice.chat?.get(provider.name);
  const listed = models instanceof Failure ? [] : models.slice(0, MODELS_ASKED_MAX).map(({ id }) => id);
  let failure = new Failure('not_found', `${provider.name} gave no list of models to choose from`);
  for (const model of named === undefined ? listed : [named]) {
    for (const maxTokens of TOKENS_ASKED) {
      const problem = await problemOf(provider, { model, max_tokens: maxTokens }, practice, context);
      if (problem === undefined) return model;
      failure = problem;
      if (problem.kind !== 'bad_request') break;
    }
    if (failure.kind !== 'bad_request' && failure.kind !== 'not_found' && failure.kind !== 'unsupported') break;
  }
  return failure;
}

/** Whether a model answers by a schema. What comes back is cut short, and nobody's business. */
async function askForJson(provider: Provider, model: string, practice: Practice, context: CallContext): Promise<true | Failure> {
  const output = { type: 'json', schema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'], additionalProperties: false } } as const;
  return (await problemOf(provider, { model, max_tokens: Math.max(...TOKENS_ASKED), output }, practice, context)) ?? true;
}

/** Why a request of a few words was not answered; undefined where it was. Declining without a word is an answer too. */
async function problemOf(provider: Provider, asked: Omit<ChatRequest, 'messages'>, { gateway }: Practice, context: CallContext): Promise<Failure | undefined> {
  const request = decodeChatRequest(Buffer.from(JSON.stringify({ ...asked, messages: [{ role: 'user', text: 'Hi' }] })));
  const call = request instanceof Failure ? request : provider.adapter.encodeChat(request, false);
  const reply = call instanceof Failure ? call : (await gateway.complete(askOne(provider, asked.model, call), context)).result;
  return reply instanceof Failure && reply.kind !== 'refusal' ? reply : undefined;
}

function checksOf(startedAtMs: number, first: KeyExamined, others: readonly KeyExamined[], practice: Practice): readonly Check[] {
  const { provider, models } = first;
  const way = wayChecks(provider, startedAtMs, practice);
  const broken = models.outcome instanceof Failure ? brokenAt(models.outcome, provider, practice) : 'key';
  if (!(models.outcome instanceof Failure) || broken === 'key') {
    const answers = others.length === 0 ? answerChecks(first, practice) : [first, ...others].flatMap((each) => numbered(each, answerChecks(each, practice)));
    return [...way, ...answers, ...clockChecks(practice.lookout.seenOf(provider.name))];
  }
  return [...way.slice(0, way.findIndex(({ check }) => check === broken)), failedCheck(broken, models.ms, models.outcome, provider, practice)];
}

/** Whether the way to the provider itself is broken, so that no call can do better. */
function isCut(outcome: unknown, provider: Provider, practice: Practice): boolean {
  return outcome instanceof Failure && brokenAt(outcome, provider, practice) !== 'key';
}

/** The check that the failure of the first call belongs to. */
function brokenAt(failure: Failure, provider: Provider, { config, lookout }: Practice): FailedCheckName {
  if (lookout.credentialsOf(provider.name)?.failure !== undefined && !lookout.seenOf(provider.name).isAnswered) return 'source';
  const proxy = proxyOf(provider, config);
  const lookup = lookout.lookupOf(askedHost(provider, proxy));
  if (lookup !== undefined && lookup.endedAtMs === undefined) return 'name';
  const { isAnswered, connectedAtMs } = lookout.seenOf(provider.name);
  return placeOf(failure, { isAnswered, isConnected: connectedAtMs !== undefined, hasProxy: proxy !== undefined });
}

/** The checks of the way, as they are where it leads to an answer. */
function wayChecks(provider: Provider, startedAtMs: number, practice: Practice): readonly Check[] {
  const proxy = proxyOf(provider, practice.config);
  const sight = practice.lookout.seenOf(provider.name);
  return [
    ...sourceChecks(provider, practice),
    nameCheck(provider, proxy, practice),
    { check: 'proxy', ok: true, detail: proxyDetail(proxy, practice.config) },
    connectCheck(provider, sight, proxy, startedAtMs, practice),
    { check: 'tls', ok: true, detail: tlsDetail(provider, sight, practice.redact) },
  ];
}

/** Where the credentials come from that are no key, and how long they last. */
function sourceChecks({ name }: Provider, { lookout }: Practice): readonly Check[] {
  const credentials = lookout.credentialsOf(name);
  if (credentials === undefined) return [];
  const { source, expiresInMs } = credentials.report;
  return [{ check: 'source', ok: true, detail: expiresInMs === undefined ? source : `${source}, good for ${Math.round(expiresInMs / 1000)} s` }];
}

/** The checks of one key of several, which their words begin with. */
function numbered({ provider: { keys: [key] } }: KeyExamined, checks: readonly Check[]): readonly Check[] {
  return checks.map((check) => ({ ...check, detail: `key ${key?.number ?? 1}: ${check.detail ?? ''}` }));
}

function answerChecks({ provider, models: { outcome: models, ms }, answer, json }: KeyExamined, practice: Practice): readonly Check[] {
  const checks: Check[] = [];
  // A chat that was answered is the better proof: not every host lists its models, nor lets every key see them.
  const isProved = answer !== undefined && !(answer.outcome instanceof Failure);
  if (!(models instanceof Failure)) checks.push({ check: 'key', ok: true, ms, detail: `accepted; ${models.length} model${models.length === 1 ? '' : 's'}` });
  else if (isProved) checks.push({ check: 'key', ok: true, ms, detail: `accepted for the chat, although ${shown(models, practice)}` });
  else if (models.kind === 'unsupported') {
    const untried = answer === undefined ? `, so that it was not tried; --chat=${provider.name}/MODEL tries it` : '';
    checks.push({ check: 'key', ok: true, ms, detail: shown(models, practice) + untried });
  } else checks.push(failedCheck('key', ms, models, provider, practice));
  if (answer?.outcome instanceof Failure) checks.push(failedCheck('chat', answer.ms, answer.outcome, provider, practice));
  else if (answer !== undefined) checks.push({ check: 'chat', ok: true, ms: answer.ms, detail: `${plain(answer.outcome, practice.redact)} answered` });
  if (json !== undefined) {
    // Never a fault: chats that ask for no schema are served.
    checks.push({ check: 'json', ok: true, ms: json.ms, detail: json.outcome instanceof Failure ? `not by a schema: ${shown(json.outcome, practice)}` : 'answers by a schema' });
  }
  return checks;
}

function nameCheck(provider: Provider, proxy: ProxyAddress | undefined, { config, lookout }: Practice): Check {
  const host = askedHost(provider, proxy);
  const lookup = lookout.lookupOf(host);
  if (lookup === undefined) {
    const why = isIP(host) !== 0 ? 'is an address' : config.transport === 'fetch' ? 'is looked up by fetch' : 'is this machine';
    return { check: 'name', ok: true, detail: `${host} ${why}` };
  }
  const [first = '', ...others] = lookup.addresses;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return { check: 'name', ok: true, ms: Math.round((lookup.endedAtMs ?? performance.now()) - lookup.startedAtMs), detail: `${host} is ${first}${more}` };
}

function connectCheck(provider: Provider, sight: Readonly<Sight>, proxy: ProxyAddress | undefined, startedAtMs: number, { lookout }: Practice): Check {
  const { connectedAtMs, address } = sight;
  if (connectedAtMs === undefined) return { check: 'connect', ok: true };
  const lookedUpAtMs = lookout.lookupOf(askedHost(provider, proxy))?.endedAtMs ?? startedAtMs;
  // A name that another provider had looked up before, or that a later call looked up again, took no time here.
  const fromMs = lookedUpAtMs > connectedAtMs ? startedAtMs : Math.max(startedAtMs, lookedUpAtMs);
  return { check: 'connect', ok: true, ms: Math.round(connectedAtMs - fromMs), ...(address === undefined ? {} : { detail: address }) };
}

function tlsDetail({ baseUrl }: Provider, { certificate }: Readonly<Sight>, redact: (text: string) => string): string {
  if (baseUrl.protocol === 'http:') return 'none: the base URL is http';
  if (certificate === undefined) return 'accepted, certificate not seen';
  return `issued by ${plain(certificate.issuer, redact)}, ${certificate.daysLeft} days left`;
}

function proxyDetail(proxy: ProxyAddress | undefined, { transport }: Config): string {
  if (transport === 'fetch') return 'fetch uses none';
  return proxy === undefined ? 'none' : `${proxy.hostname} port ${proxy.port}`;
}

function clockChecks({ skewMs }: Readonly<Sight>): readonly Check[] {
  if (skewMs === undefined) return [];
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return [{ check: 'clock', ok: true, detail: seconds <= 1 ? 'the same' : `${seconds} s apart` }];
  const detail = `this machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead'}`;
  return [{ check: 'clock', ok: false, detail, remedy: 'Set the clock of this machine, best by NTP.' }];
}

function failedCheck(check: FailedCheckName, ms: number, failure: Failure, provider: Provider, practice: Practice): Check {
  return { check, ok: false, ms, detail: shown(failure, practice), remedy: remedyFor(check, failure, origin(provider, practice)) };
}

function origin(provider: Provider, { config, written }: Practice): Origin {
  return originOf(provider, written, proxyOf(provider, config) !== undefined);
}

/** `fetch` takes no proxy. */
function proxyOf({ baseUrl }: Provider, { transport, proxy }: Config): ProxyAddress | undefined {
  return transport === 'fetch' ? undefined : proxyFor(proxy, baseUrl);
}

/** Whose address is needed: a proxy looks the provider up itself. */
function askedHost({ baseUrl }: Provider, proxy: ProxyAddress | undefined): string {
  return proxy?.hostname ?? hostnameOf(baseUrl);
}

/** The gateway's sentence. Its limits are the doctor's own here, not those of the settings that it names. */
function shown(failure: Failure, { redact }: Practice): string {
  return sentenceOf(failure, redact).replace(/ \(GATEWAY_\w+\)$/, '');
}

/** Text of others on one line of plain characters, without a key. */
function plain(text: string, redact: (text: string) => string): string {
  return bounded(redact(text).replace(/[^\x20-\x7e]/g, '?'), SHOWN_CHARS_MAX);
}
