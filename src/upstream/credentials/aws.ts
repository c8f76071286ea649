/**
 * Keys of AWS by which requests are signed: of the environment, by a web identity, of the shared files, of a container, of an
 * instance.
 *
 * Source: AWS SDKs and Tools Reference, "Standardized credential providers"; botocore.
 */

import { parseSharedFiles } from '../../base/aws/shared-files.ts';
import type { AwsCredentials } from '../../base/aws/signature.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { textField } from '../../base/loose.ts';
import type { AwsPlan } from '../../core/credential-plan.ts';
import { unreachable } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { formQuestion, refusalFrom, senselessAnswer } from './endpoint.ts';
import type { Answer, Question } from './endpoint.ts';
import type { Fresh } from './renewed.ts';
import { HEADER_FORM, lifetimeMs, readText, readToken, secretFrom } from './source.ts';
import type { Surroundings } from './source.ts';

type PlanOf<S extends AwsPlan['source']> = Extract<AwsPlan, { readonly source: S }>;
type Outcome = Fresh<AwsCredentials> | Failure;

export function askAws(plan: AwsPlan, surroundings: Surroundings): Promise<Outcome> {
  switch (plan.source) {
    case 'environment':
      return Promise.resolve({ value: plan.credentials, lifetimeMs: undefined, isOnly: true });
    case 'web identity':
      return askByWebIdentity(plan, surroundings);
    case 'shared files':
      return Promise.resolve(readSharedFiles(plan, surroundings));
    case 'container':
      return askContainer(plan, surroundings);
    case 'instance metadata':
      return askInstance(plan, surroundings);
    default:
      return unreachable(plan);
  }
}

/** Not signed: the token of the web identity is proof enough. The answer is XML. */
async function askByWebIdentity(plan: PlanOf<'web identity'>, surroundings: Surroundings): Promise<Outcome> {
  const token = readToken(surroundings, plan.tokenFile, 'the file of AWS_WEB_IDENTITY_TOKEN_FILE');
  if (token instanceof Failure) return token;
  const { stsUrl, roleArn, sessionName } = plan;
  const answer = await surroundings.ask(formQuestion(stsUrl, {
    Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleArn: roleArn, RoleSessionName: sessionName, WebIdentityToken: token.reveal(),
  }));
  if (answer instanceof Failure) return answer;
  if (answer.status !== 200) return refusalFrom(stsUrl, answer, elementOf(answer.text, 'Code'));
  const credentials = elementOf(answer.text, 'Credentials') ?? '';
  return credentialsFrom(stsUrl, answer, (name) => elementOf(credentials, name), 'SessionToken', surroundings);
}

/** What is inside the first element of a name. Enough for an answer of a fixed shape, whose values need no escaping. */
function elementOf(xml: string, name: string): string | undefined {
  const from = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, from);
  return from === -1 || end === -1 ? undefined : xml.slice(from + name.length + 2, end).trim();
}

/** Good until the files change, which a refusal is taken for a sign of. */
function readSharedFiles(plan: PlanOf<'shared files'>, surroundings: Surroundings): Outcome {
  const [credentials, config] = [plan.credentialsPath, plan.configPath].map((path) => readText(surroundings, path, 'the shared files of AWS'));
  if (credentials instanceof Failure && config instanceof Failure) return credentials;
  const textOf = (text: string | Failure | undefined): string | undefined => (text instanceof Failure ? undefined : text);
  const found = parseSharedFiles(textOf(credentials), textOf(config), plan.profile);
  if (typeof found === 'string') return new Failure('auth', `the profile of AWS_PROFILE in the shared files of AWS ${found}`);
  return { value: found, lifetimeMs: undefined };
}

async function askContainer({ url, token: given, tokenFile }: PlanOf<'container'>, surroundings: Surroundings): Promise<Outcome> {
  const token = tokenFile === undefined ? given : readToken(surroundings, tokenFile, 'the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', HEADER_FORM);
  if (token instanceof Failure) return token;
  const answer = await surroundings.ask({ method: 'GET', url, headers: token === undefined ? {} : { authorization: token.reveal() }, isMetadata: true });
  return answer instanceof Failure ? answer : credentialsFromJson(url, answer, surroundings);
}

/** As long as the documentation has it; what comes of it lives for hours. */
const SESSION_SECONDS = '21600';

/** Three calls: for a token of the session (IMDSv2), for the role's name, for its keys. */
async function askInstance({ origin }: PlanOf<'instance metadata'>, surroundings: Surroundings): Promise<Outcome> {
  const tokenUrl = new URL('/latest/api/token', origin);
  const session = await askMetadata({ method: 'PUT', url: tokenUrl, headers: { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_SECONDS } }, surroundings);
  if (session instanceof Failure) return session;
  const token = secretFrom(session.text.trim());
  if (token === undefined) return senselessAnswer(tokenUrl);
  const headers = { 'x-aws-ec2-metadata-token': token.reveal() };
  const rolesUrl = new URL('/latest/meta-data/iam/security-credentials/', origin);
  const roles = await askMetadata({ method: 'GET', url: rolesUrl, headers }, surroundings);
  if (roles instanceof Failure) return roles;
  const [role = ''] = roles.text.trim().split('\n');
  if (!/^[\w+=,.@-]{1,64}$/.test(role)) return senselessAnswer(rolesUrl);
  const url = new URL(rolesUrl.href + encodeURIComponent(role));
  const answer = await askMetadata({ method: 'GET', url, headers }, surroundings);
  return answer instanceof Failure ? answer : credentialsFromJson(url, answer, surroundings);
}

/** Whatever is no 200 is a failure. */
async function askMetadata(question: Question, { ask }: Surroundings): Promise<Answer | Failure> {
  const answer = await ask({ ...question, isMetadata: true });
  if (answer instanceof Failure || answer.status === 200) return answer;
  return refusalFrom(question.url, answer);
}

function credentialsFromJson(url: URL, answer: Answer, surroundings: Surroundings): Outcome {
  const json = parseLenient(answer.text);
  const code = textField(json, 'Code') ?? textField(json, 'code');
  if (answer.status !== 200) return refusalFrom(url, answer, code);
  return credentialsFrom(url, answer, (name) => textField(json, name), 'Token', surroundings);
}

/** `tokenName`: what the answer calls the session's token. */
function credentialsFrom(url: URL, answer: Answer, read: (name: string) => string | undefined, tokenName: 'SessionToken' | 'Token', { clock }: Surroundings): Outcome {
  const [accessKeyId, secretAccessKey, sessionToken] = ['AccessKeyId', 'SecretAccessKey', tokenName].map((name) => secretFrom(read(name)));
  const lifetime = lifetimeMs(read('Expiration'), answer, clock);
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined || lifetime === undefined) return senselessAnswer(url);
  return { value: { accessKeyId: accessKeyId.reveal(), secretAccessKey, sessionToken }, lifetimeMs: lifetime };
}
