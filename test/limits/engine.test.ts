import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { RespError } from '../../src/base/resp.ts';
import type { RespReply } from '../../src/base/resp.ts';
import type { CallerLimits } from '../../src/core/route.ts';
import { decisionFrom, RENEW, SETTLE, TAKE } from '../../src/limits/engine-scripts.ts';
import type { Charge, Decision } from '../../src/limits/store.ts';
import { createRandom } from '../base/random.ts';
import { trustAnyone } from '../upstream/attempts.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { closedBaseUrl, startRawServer } from '../upstream/raw-server.ts';
import { ADMITTED, addressOf, createStore, describeCommand, isProbe, startScriptedEngine, wellAnswered } from './engines.ts';
import type { Script } from './engines.ts';

const LIMITS: CallerLimits = { requestsPerMinute: 60, tokensPerMinute: 6000, tokensPerDay: undefined, concurrent: 8 };
const REFUSED = '*5\r\n:2\r\n:1500\r\n:1000000\r\n:60000000\r\n:0\r\n';
const AWAY = 'the engine of GATEWAY_LIMITS_URL does not answer; until it does, each process counts limits alone ';

function charge(lease: string, more: Partial<Charge> = {}): Charge {
  return { caller: 'ann', limits: LIMITS, tokens: 100, lease, ...more };
}

/** A script that answers the probe and the greeting well, and takes with this. */
function takesAnswered(answer: string | undefined): Script {
  return (words, socket) => (isProbe(words) || !words[0]?.startsWith('EVAL') ? wellAnswered(words, socket) : answer);
}

/** What was decided at once, without anybody being waited for. */
function atOnce(decision: Decision | Promise<Decision>): Decision {
  assert.ok(!(decision instanceof Promise), 'somebody was waited for');
  return decision;
}

test('the engine decides, and the own buckets are charged with what it admits', async (t) => {
  const engine = await startScriptedEngine(t, takesAnswered('*5\r\n:0\r\n:0\r\n:1000000\r\n:1500500\r\n:0\r\n'));
  const answers: number[] = [];
  const { store, local, up } = createStore(t, engine.address, { onAnswer: (ms) => answers.push(ms) });
  await up();
  assert.deepEqual(await store.take(charge('l1')), {
    refusedBy: undefined,
    standings: { requests_per_minute: { remaining: 59, resetMs: 1000 }, tokens_per_minute: { remaining: 5849, resetMs: 1500.5 } },
  });
  engine.script = takesAnswered(REFUSED);
  assert.deepEqual(await store.take(charge('l2')), {
    refusedBy: 'tokens_per_minute',
    waitMs: 1500,
    standings: { requests_per_minute: { remaining: 59, resetMs: 1000 }, tokens_per_minute: { remaining: 0, resetMs: 60_000 } },
  });
  assert.deepEqual([engine.commands.all, local.taken, answers.length], [['TAKE ann 100 l1', 'TAKE ann 100 l2'], ['l1'], 2]);
});

test('what the own buckets refused of what the engine admitted is not settled with them', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, local, up } = createStore(t, engine.address);
  await up();
  local.admits = 1;
  for (const lease of ['a', 'b']) assert.equal((await store.take(charge(lease))).refusedBy, undefined);
  for (const lease of ['a', 'b', 'never']) store.settle(charge(lease), 7);
  await engine.commands.until((all) => all.length === 3);
  assert.deepEqual([local.settled, engine.commands.all[2]], [['a 7'], 'SETTLE ann 14 a,b']);
});

const ANSWERS: readonly (readonly [what: string, reply: RespReply | undefined, refusedBy: string | undefined])[] = [
  ['the first limit', [1, 1, 0, 0, 0], 'requests_per_minute'],
  ['the second limit', [2, 1, 0, 0, 0], 'tokens_per_minute'],
  ['the places', [4, 1000, 0, 0, 0], 'concurrent'],
  ['a limit that the caller has not', [3, 1, 0, 0, 0], 'none'],
  ['a limit that there is not', [5, 1, 0, 0, 0], 'none'],
  ['a negative one', [-1, 1, 0, 0, 0], 'none'],
  ['too few numbers', [0, 0, 0, 0], 'none'],
  ['too many numbers', [0, 0, 0, 0, 0, 0], 'none'],
  ['a text among the numbers', [0, '0', 0, 0, 0], 'none'],
  ['a number alone', 0, 'none'],
  ['an error', new RespError('ERR'), 'none'],
  ['nothing', undefined, 'none'],
  ['null', null, 'none'],
];

for (const [what, reply, refusedBy] of ANSWERS) {
  test(`decisionFrom reads ${what} as a refusal by ${refusedBy}`, () => {
    const decision = decisionFrom(reply, LIMITS);
    assert.equal(decision === undefined ? 'none' : decision.refusedBy, refusedBy);
  });
}

test('each standing is of a limit that the caller has', () => {
  const limits = { requestsPerMinute: undefined, tokensPerMinute: undefined, tokensPerDay: 86_400, concurrent: undefined };
  assert.deepEqual(decisionFrom([0, 0, 0, 0, 10_000_000], limits)?.standings, { tokens_per_day: { remaining: 86_390, resetMs: 10_000 } });
});

test('a store says who it is, and which database, before it asks anything', async (t) => {
  const seen: string[] = [];
  const script: Script = (words, socket) => {
    seen.push(isProbe(words) ? 'probe' : words.join(' '));
    return wellAnswered(words, socket);
  };
  const named = await startScriptedEngine(t, script, { credentials: 'gw:p%C3%A4ss@', database: 3 });
  await createStore(t, named.address).up();
  assert.deepEqual(seen.splice(0), ['AUTH gw päss', 'SELECT 3', 'probe']);
  const nameless = await startScriptedEngine(t, script, { credentials: ':secret@' });
  await createStore(t, nameless.address).up();
  assert.deepEqual(seen, ['AUTH secret', 'probe']);
});

test('a script that the engine does not know is sent whole, and never loaded', async (t) => {
  const known = new Set<string>();
  const names: string[] = [];
  const engine = await startScriptedEngine(t, (words) => {
    const [name = '', which = ''] = words;
    names.push(name);
    const script = [TAKE, SETTLE, RENEW].find(({ digest, text }) => which === digest || which === text);
    if (script === undefined) return '-ERR unknown command\r\n';
    if (name === 'EVAL') known.add(script.digest);
    return known.has(script.digest) ? ADMITTED : '-NOSCRIPT No matching script. Please use EVAL.\r\n';
  });
  const { store, local, failures, up } = createStore(t, engine.address);
  await up();
  await store.take(charge('a'));
  known.clear();
  assert.equal((await store.take(charge('b'))).refusedBy, undefined);
  assert.deepEqual([names, local.taken], [['EVALSHA', 'EVAL', 'EVALSHA', 'EVALSHA', 'EVAL'], ['a', 'b']]);
  store.settle(charge('a'), 5);
  await engine.commands.until((all) => all.includes('EVAL SETTLE ann 5 a'));
  assert.deepEqual(failures.all, []);
});

const ERRORS: readonly (readonly [error: string, cause: string, code: string])[] = [
  ['MOVED 3999 127.0.0.1:6381', 'moved', 'MOVED'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'out_of_memory', 'OOM'],
  ["READONLY You can't write against a read only replica. script: abc", 'read_only', 'READONLY'],
  ['ERR Error running script (call to f_1): @user_script:9: -READONLY You can\'t write against a read only replica.', 'read_only', 'READONLY'],
  ["ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed when used memory > 'maxmemory'.", 'out_of_memory', 'OOM'],
  ['ERR Error running script (call to f_1): @user_script:9: -NOPERM this user has no permissions', 'auth', 'NOPERM'],
  // Of a script that was sent whole, too.
  ['NOSCRIPT No matching script.', 'other', 'NOSCRIPT'],
  ['LOADING Redis is loading the dataset in memory', 'loading', 'LOADING'],
  ['NOPERM this user has no permissions', 'auth', 'NOPERM'],
  ['WRONGTYPE Operation against a key', 'other', 'WRONGTYPE'],
  ["ERR unknown command 'canary-of-a-word'", 'other', 'ERR'],
];

for (const [error, cause, code] of ERRORS) {
  test(`"${error.slice(0, 60)}" has the own buckets decide, and three of them in a row are one line`, async (t) => {
    const engine = await startScriptedEngine(t, takesAnswered(`-${error}\r\n`));
    const { store, local, lines, failures, up } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
    await up();
    for (const lease of ['a', 'b', 'c']) assert.equal((await store.take(charge(lease))).refusedBy, undefined);
    atOnce(store.take(charge('d')));
    assert.deepEqual([local.taken, failures.all, store.isUp], [['a', 'b', 'c', 'd'], [cause, cause, cause], false]);
    assert.deepEqual(lines.all, [`${AWAY}{"engine":"127.0.0.1:${engine.address.port}","cause":"${cause}","error":"${code}"}`]);
  });
}

test('two errors and a decision, again and again, send no engine out', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, lines, up } = createStore(t, engine.address);
  await up();
  for (let round = 0; round < 3; round += 1) {
    engine.script = takesAnswered('-LOADING\r\n');
    for (let count = 0; count < 2; count += 1) await store.take(charge(`${round}.${count}`));
    engine.script = takesAnswered(ADMITTED);
    await store.take(charge(`${round}.2`));
  }
  assert.deepEqual([store.isUp, lines.all, engine.connections.all.length], [true, [], 1]);
});

for (const [what, error, code] of [
  ['WRONGPASS', '-WRONGPASS invalid username-password pair or user is disabled.\r\n', 'WRONGPASS'],
  ['the error of an old engine', '-ERR invalid password canary-password\r\n', 'ERR'],
  ['that there are no users', "-ERR wrong number of arguments for 'auth' command\r\n", 'ERR'],
]) {
  test(`a password that is answered with ${what} sends the engine out, and shows nowhere`, async (t) => {
    const engine = await startScriptedEngine(t, ([name]) => (name === 'AUTH' ? error : '-NOAUTH Authentication required.\r\n'), { credentials: ':canary-password@' });
    const { store, lines, failures } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
    await lines.until((all) => all.length === 1);
    assert.deepEqual(lines.all, [`${AWAY}{"engine":"127.0.0.1:${engine.address.port}","cause":"auth","error":"${code}"}`]);
    assert.deepEqual([failures.all, engine.connections.all.length], [['auth', 'auth', 'auth'], 3]);
    atOnce(store.take(charge('a')));
  });
}

test('an engine that wants a password and is given none is told so, whatever it calls that', async (t) => {
  const engine = await startScriptedEngine(t, () => '-ERR Protocol error: unauthenticated multibulk length\r\n');
  const { failures } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
  await failures.until((all) => all.length === 3);
  assert.deepEqual(failures.all, ['auth', 'auth', 'auth']);
});

for (const [refused, error, cause, code] of [
  ['SELECT', 'ERR DB index is out of range', 'database', 'ERR'],
  ['SELECT', 'LOADING Redis is loading the dataset in memory', 'loading', 'LOADING'],
  ['AUTH', 'ERR something else', 'other', 'ERR'],
]) {
  test(`an engine that answers ${refused} with "${error}" is out by the cause ${cause}`, async (t) => {
    const engine = await startScriptedEngine(t, (words, socket) => (words[0] === refused ? `-${error}\r\n` : wellAnswered(words, socket)), { credentials: ':p@', database: 99 });
    const { lines } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
    await lines.until((all) => all.length === 1);
    assert.deepEqual(lines.all, [`${AWAY}{"engine":"127.0.0.1:${engine.address.port}","cause":"${cause}","error":"${code}"}`]);
  });
}

test('an engine that settles, but decides nothing, is out after the third', async (t) => {
  const settles: Script = (words, socket) => (describeCommand(words).startsWith('TAKE') ? '-OOM command not allowed\r\n' : wellAnswered(words, socket));
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
  await up();
  engine.script = settles;
  for (const lease of ['a', 'b', 'c']) {
    await store.take(charge(lease));
    store.settle(charge(lease), 1);
    await engine.commands.until((all) => store.isUp === false || all.includes(`SETTLE ann 0 ${lease}`));
  }
  assert.equal(store.isUp, false);
});

test('an answer is late by its own question, not by one before it', async (t) => {
  const engine = await startScriptedEngine(t);
  let nowMs = 0;
  const { store, failures, up } = createStore(t, engine.address, { now: () => nowMs, timings: { answerMs: 10 } });
  await up();
  let answerLater = (): void => undefined;
  engine.script = (words, socket) => {
    answerLater = () => void socket.write(wellAnswered(words, socket) ?? '');
    return undefined;
  };
  nowMs = 9;
  const asked = store.take(charge('a'));
  await engine.commands.until((all) => all.length === 1);
  // The timer that was set for the probe ends now, and those after it.
  await new Promise((resolve) => setTimeout(resolve, 50));
  answerLater();
  assert.equal((await asked).refusedBy, undefined);
  assert.deepEqual([failures.all, engine.connections.all.length], [[], 1]);
});

test('connecting is given up in time, its TLS included, and no longer timed once it is done', async (t) => {
  const silent = await startRawServer(t, {});
  const engine = await startScriptedEngine(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { failures } = createStore(t, addressOf(`rediss://127.0.0.1:${silent.baseUrl.port}`));
  const { store, failures: none } = createStore(t, engine.address);
  while (!store.isUp) await new Promise(setImmediate);
  t.mock.timers.tick(59_999);
  assert.deepEqual(failures.all, []);
  t.mock.timers.tick(1);
  await new Promise(setImmediate);
  assert.deepEqual([failures.all, none.all, store.isUp], [['timeout'], [], true]);
});

test('an engine that is back is asked again after one probe, and each way is one line', async (t) => {
  let isGood = false;
  const engine = await startScriptedEngine(t, (words) => (isGood ? wellAnswered(words, engine.connections.all[0] as never) : '-LOADING\r\n'));
  const { store, lines, failures } = createStore(t, engine.address);
  // Out, and some probes later still.
  await failures.until((all) => all.length >= 5);
  assert.equal(lines.all.length, 1);
  isGood = true;
  await lines.until((all) => all.length === 2);
  assert.equal(lines.all[1], `the engine of GATEWAY_LIMITS_URL answers again {"engine":"127.0.0.1:${engine.address.port}"}`);
  assert.equal((await store.take(charge('a'))).refusedBy, undefined);
  assert.deepEqual(engine.commands.all, ['TAKE ann 100 a']);
});

test('an engine that refuses connections is waited for by nobody', async (t) => {
  const { hostname, port } = await closedBaseUrl();
  const { store, local, lines } = createStore(t, addressOf(`redis://${hostname}:${port}`), { timings: { outMs: 60_000 } });
  atOnce(store.take(charge('a')));
  await lines.until((all) => all.length === 1);
  assert.match(lines.all[0] ?? '', /"cause":"connection","error":"ECONNREFUSED"/);
  store.settle(charge('a'), 1);
  assert.deepEqual([local.taken, local.settled], [['a'], ['a 1']]);
});

test('an engine that falls silent costs those whom it owes an answer its time, and nobody after them', async (t) => {
  const engine = await startScriptedEngine(t, takesAnswered(undefined));
  const { store, local, failures, up } = createStore(t, engine.address, { timings: { answerMs: 30, outMs: 60_000 } });
  await up();
  engine.script = () => undefined;
  const waiting = [store.take(charge('a')), store.take(charge('b'))];
  for (const decision of await Promise.all(waiting)) assert.equal(decision.refusedBy, undefined);
  atOnce(store.take(charge('c')));
  assert.deepEqual(local.taken, ['a', 'b', 'c']);
  await failures.until((all) => all.length === 3);
  assert.deepEqual(failures.all, ['timeout', 'timeout', 'timeout']);
});

test('a place that a lost answer may have taken, and the own buckets refused, is given back', async (t) => {
  const engine = await startScriptedEngine(t, takesAnswered(undefined));
  const { store, local, up } = createStore(t, engine.address);
  await up();
  local.admits = 0;
  const decision = store.take(charge('a'));
  await engine.commands.until((all) => all.length === 1);
  engine.script = wellAnswered;
  engine.connections.all[0]?.destroy();
  assert.equal((await decision).refusedBy, 'tokens_per_day');
  await engine.commands.until((all) => all.length === 2);
  assert.equal(engine.commands.all[1], 'SETTLE ann 0 a');
});

for (const [what, answer] of [['half an answer', '*5\r\n:0\r\n:'], ['no answer', '']] as const) {
  test(`a connection that ends after ${what} has the own buckets decide, and is made anew`, async (t) => {
    const engine = await startScriptedEngine(t, (words, socket) => {
      if (isProbe(words) || !describeCommand(words).startsWith('TAKE')) return ADMITTED;
      socket.end(answer);
      return undefined;
    });
    const { store, local, lines, failures, up } = createStore(t, engine.address);
    await up();
    assert.equal((await store.take(charge('a'))).refusedBy, undefined);
    await up();
    assert.deepEqual([local.taken, failures.all, lines.all, engine.connections.all.length], [['a'], ['connection'], [], 2]);
  });
}

test('half an answer and then silence is no answer', async (t) => {
  const engine = await startScriptedEngine(t, takesAnswered('*5\r\n:0\r\n:0\r\n:1'));
  const { store, local, failures, up } = createStore(t, engine.address, { timings: { answerMs: 30 } });
  await up();
  await store.take(charge('a'));
  assert.deepEqual([local.taken, failures.all[0]], [['a'], 'timeout']);
});

test('an answer that comes byte by byte is an answer', async (t) => {
  const engine = await startScriptedEngine(t, (words, socket) => {
    if (isProbe(words)) return ADMITTED;
    const bytes = [...REFUSED];
    const writeNext = (): void => {
      const byte = bytes.shift();
      if (byte !== undefined) socket.write(byte, () => setImmediate(writeNext));
    };
    writeNext();
    return undefined;
  });
  const { store, up } = createStore(t, engine.address);
  await up();
  assert.equal((await store.take(charge('a'))).refusedBy, 'tokens_per_minute');
});

for (const [what, answer] of [
  ['another protocol', 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'],
  ['more answers than questions', ADMITTED + ADMITTED],
  ['a string of a gigabyte', '$1000000000\r\n'],
  ['an array of a billion values', '*1000000000\r\n'],
] as const) {
  test(`what speaks ${what} is taken for no engine`, async (t) => {
    const engine = await startScriptedEngine(t, () => answer);
    const { store, lines } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
    await lines.until((all) => all.length === 1);
    assert.match(lines.all[0] ?? '', /"cause":"protocol"/);
    atOnce(store.take(charge('a')));
  });
}

for (const answer of ['+OK\r\n', '$-1\r\n', '*0\r\n', ':0\r\n', '*5\r\n:5\r\n:0\r\n:0\r\n:0\r\n:0\r\n', '*5\r\n:1\r\n:-5\r\n:0\r\n:0\r\n:0\r\n', '*5\r\n:0\r\n:0\r\n$1\r\n0\r\n:0\r\n:0\r\n']) {
  test(`${JSON.stringify(answer)} is no decision: the own buckets decide, and what answers so is no engine`, async (t) => {
    const engine = await startScriptedEngine(t, takesAnswered(answer));
    const { store, local, failures, up } = createStore(t, engine.address);
    await up();
    await store.take(charge('a'));
    assert.deepEqual([local.taken, failures.all], [['a'], ['protocol']]);
  });
}

test('what answers the probe with anything but a decision is never asked', async (t) => {
  const engine = await startScriptedEngine(t, () => '+PONG\r\n');
  const { store, lines } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
  await lines.until((all) => all.length === 1);
  assert.match(lines.all[0] ?? '', /"cause":"protocol"/);
  atOnce(store.take(charge('a')));
});

test('what is settled while the engine is away is told it when it is back, with the places of all that run', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  for (const lease of ['a', 'b', 'c']) await store.take(charge(lease));
  engine.commands.all.length = 0;
  engine.connections.all[0]?.destroy();
  while (store.isUp) await new Promise(setImmediate);
  // Admitted here: the engine was never charged for it, so nothing but its place is settled there.
  atOnce(store.take(charge('d')));
  atOnce(store.take(charge('e')));
  store.settle(charge('a'), 40);
  store.settle(charge('b'), -15);
  store.settle(charge('d'), 1000);
  await engine.commands.until((all) => all.length === 2);
  assert.deepEqual(engine.commands.all, ['RENEW ann c,e', 'SETTLE ann 25 a,b,d']);
});

test('tokens are owed to the limits that they were taken from, whatever takes a place alone beside them', async (t) => {
  const engine = await startScriptedEngine(t);
  const limitsOf: string[] = [];
  const { store, up } = createStore(t, engine.address);
  await up();
  const list = charge('b', { limits: { ...LIMITS, requestsPerMinute: undefined, tokensPerMinute: undefined }, tokens: 0 });
  for (const one of [charge('a'), list]) await store.take(one);
  engine.script = (words, socket) => {
    if (describeCommand(words).startsWith('SETTLE')) limitsOf.push(`${words[5]} ${words[8]} ${words[10]}`);
    return wellAnswered(words, socket);
  };
  store.settle(charge('a'), 7);
  store.settle(list, 0);
  await engine.commands.until((all) => all.includes('SETTLE ann 7 a,b'));
  assert.deepEqual(limitsOf, ['60 6000 7']);
});

test('tokens are owed to the limits of who owes them, whatever took a place alone before', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  const list = charge('a', { limits: { ...LIMITS, requestsPerMinute: undefined, tokensPerMinute: undefined }, tokens: 0 });
  for (const one of [list, charge('b')]) await store.take(one);
  store.settle(list, 0);
  store.settle(charge('b'), 7);
  await engine.commands.until((all) => all.includes('SETTLE ann 7 a,b'));
});

test('what was settled is settled once, and more than ten thousand places are given back in turn', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  const back = (): number => engine.commands.all.flatMap((command) => /^SETTLE ann 0 (.+)$/.exec(command)?.[1]?.split(',') ?? []).length;
  for (let round = 1; round <= 11; round += 1) {
    const leases = Array.from({ length: 1000 }, (_, index) => `${round}.${index}`);
    await Promise.all(leases.map((lease) => store.take(charge(lease))));
    for (const lease of leases) store.settle(charge(lease), 0);
    await engine.commands.until(() => back() >= round * 1000);
  }
  await store.take(charge('last'));
  assert.equal(back(), 11_000);
});

test('of a settlement that nobody answered places are settled again, tokens are not; of one that was refused, all is', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, failures, up } = createStore(t, engine.address);
  await up();
  for (const lease of ['a', 'b']) await store.take(charge(lease));
  const settled = (): readonly string[] => engine.commands.all.filter((command) => command.startsWith('SETTLE'));
  engine.script = takesAnswered('-OOM command not allowed\r\n');
  store.settle(charge('a'), 40);
  await failures.until((all) => all.length === 1);
  engine.script = takesAnswered(undefined);
  store.settle(charge('b'), 2);
  await engine.commands.until(() => settled().length === 2);
  engine.script = wellAnswered;
  engine.connections.all.at(-1)?.destroy();
  await engine.commands.until(() => settled().length === 3);
  assert.deepEqual(settled(), ['SETTLE ann 40 a', 'SETTLE ann 42 a,b', 'SETTLE ann 0 a,b']);
});

test('what was refused of a settlement is settled with the next renewal, though nobody asks anything', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, failures, up } = createStore(t, engine.address, { timings: { renewMs: 5 } });
  await up();
  await store.take(charge('a'));
  engine.script = takesAnswered('-OOM command not allowed\r\n');
  store.settle(charge('a'), 40);
  await failures.until((all) => all.length === 1);
  engine.script = wellAnswered;
  const before = engine.commands.all.length;
  await engine.commands.until((all) => all.slice(before).includes('SETTLE ann 40 a'));
});

test('places are renewed, of each caller in one command, and no longer than their requests run', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address, { timings: { renewMs: 5 } });
  await up();
  const unlimited = { ...LIMITS, concurrent: undefined };
  await Promise.all([store.take(charge('a')), store.take(charge('b')), store.take(charge('c', { caller: 'bob' })), store.take(charge('d', { caller: 'cid', limits: unlimited }))]);
  const renewed = await engine.commands.until((all) => all.filter((command) => command.startsWith('RENEW')).length >= 4);
  assert.deepEqual(new Set(renewed.filter((command) => command.startsWith('RENEW'))), new Set(['RENEW ann a,b', 'RENEW bob c']));
  for (const [lease, caller] of [['a', 'ann'], ['b', 'ann'], ['c', 'bob']] as const) store.settle(charge(lease, { caller }), 0);
  await engine.commands.until((all) => all.filter((command) => command.startsWith('SETTLE')).length === 2);
  const { length } = engine.commands.all;
  await store.take(charge('e'));
  await engine.commands.until((all) => all.includes('RENEW ann e'));
  assert.ok(!engine.commands.all.slice(length).some((command) => /RENEW.*[abc]$/.test(command)));
});

test('places beyond a thousand are renewed and given back in several commands', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address);
  await up();
  const leases = Array.from({ length: 2500 }, (_, index) => `l${index}`);
  await Promise.all(leases.map((lease) => store.take(charge(lease))));
  engine.commands.all.length = 0;
  engine.connections.all[0]?.destroy();
  while (store.isUp) await new Promise(setImmediate);
  for (const lease of leases.slice(0, 1200)) store.settle(charge(lease), 1);
  await engine.commands.until((all) => all.filter((command) => command.startsWith('SETTLE')).length === 2);
  assert.deepEqual(engine.commands.all.map((command) => [command.split(' ').slice(0, 3).join(' ').replace(/l.*/, ''), command.split(',').length]), [
    ['RENEW ann ', 1000],
    ['RENEW ann ', 300],
    ['SETTLE ann 1200', 1000],
    ['SETTLE ann 0', 200],
  ]);
});

test('more questions than 4096 at a time are decided here', async (t) => {
  const engine = await startScriptedEngine(t, takesAnswered(undefined));
  const { store, local, failures, up } = createStore(t, engine.address);
  await up();
  const decisions = Array.from({ length: 4098 }, (_, index) => store.take(charge(`l${index}`)));
  await Promise.all(decisions.slice(4096));
  assert.deepEqual([local.taken, failures.all], [['l4096', 'l4097'], ['full', 'full']]);
  store.close();
  await Promise.all(decisions);
  assert.equal(local.taken.length, 4098);
});

test('close has what was settled leave, what was asked decided here, and the connection ended', async (t) => {
  const engine = await startScriptedEngine(t);
  const { store, local, up } = createStore(t, engine.address);
  await up();
  await store.take(charge('a'));
  engine.script = takesAnswered(undefined);
  const asked = store.take(charge('b'));
  store.settle(charge('a'), 3);
  const [socket] = engine.connections.all;
  assert.ok(socket !== undefined);
  const closed = once(socket, 'close');
  store.close();
  assert.equal((await asked).refusedBy, undefined);
  await Promise.all([closed, engine.commands.until((all) => all.includes('SETTLE ann 3 a'))]);
  atOnce(store.take(charge('c')));
  assert.deepEqual([local.taken, local.isClosed, store.isUp, engine.connections.all.length], [['a', 'b', 'c'], true, false, 1]);
});

test('an engine is told nothing by a store that is closed while it connects, nor of places before its probe is answered', async (t) => {
  const seen: string[] = [];
  const silent: Script = (words) => void seen.push(isProbe(words) ? 'probe' : describeCommand(words));
  const closed = await startScriptedEngine(t, silent);
  createStore(t, closed.address).store.close();
  const [socket] = await closed.connections.until((all) => all.length === 1);
  if (socket?.closed === false) await once(socket, 'close');
  assert.deepEqual(seen, []);
  const engine = await startScriptedEngine(t);
  const { store, up } = createStore(t, engine.address, { timings: { renewMs: 1, answerMs: 50 } });
  await up();
  await store.take(charge('a'));
  engine.script = silent;
  engine.connections.all[0]?.destroy();
  await engine.connections.until((all) => all.length === 3);
  assert.deepEqual(new Set(seen), new Set(['probe']));
});

test('a connection that nobody waits on keeps no process alive', async (t) => {
  const engine = await startScriptedEngine(t);
  const holds = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const { store, up } = createStore(t, engine.address);
  await up();
  for (const socket of engine.connections.all) socket.unref();
  await store.take(charge('a'));
  await engine.commands.until((all) => all.length === 1);
  engine.script = takesAnswered(undefined);
  // In one turn of the event loop, so that no socket of another test counts.
  const idle = holds();
  const asked = store.take(charge('b'));
  const asking = holds();
  store.close();
  assert.deepEqual([asking, holds()], [idle + 1, idle]);
  await asked;
});

test('an engine that closes idle connections is connected to again without a word', async (t) => {
  const engine = await startScriptedEngine(t);
  let nowMs = 0;
  const { store, lines, up } = createStore(t, engine.address, { now: () => nowMs });
  for (let round = 1; round <= 5; round += 1) {
    await engine.connections.until((all) => all.length === round);
    await up();
    nowMs += 10_000;
    engine.connections.all.at(-1)?.destroy();
    while (store.isUp) await new Promise(setImmediate);
  }
  await up();
  assert.deepEqual(lines.all, []);
});

test("an engine's name is looked up as those of providers are", async (t) => {
  const engine = await startScriptedEngine(t);
  const asked: string[] = [];
  const { up } = createStore(t, { ...engine.address, hostname: 'engine.test' }, {
    lookup(hostname, _options, callback) {
      asked.push(hostname);
      setImmediate(callback, null, [{ address: '127.0.0.1', family: 4 }]);
    },
  });
  await up();
  assert.deepEqual(asked, ['engine.test']);
});

test('an engine that closes each connection as soon as it is ready is out after the third', async (t) => {
  const engine = await startScriptedEngine(t, (_words, socket) => {
    socket.end(ADMITTED);
    return undefined;
  });
  const { lines } = createStore(t, engine.address, { timings: { outMs: 60_000 } });
  await lines.until((all) => all.length === 1);
  assert.equal(engine.connections.all.length, 3);
});

test('rediss:// asks an engine whose certificate is good for its name, and no other, even where NODE_TLS_REJECT_UNAUTHORIZED is 0', async (t) => {
  trustAnyone(t);
  const certificate = createCertificate('localhost');
  const good = await startScriptedEngine(t, wellAnswered, { certificate, host: 'localhost', credentials: ':secret@' });
  const { store, up } = createStore(t, good.address, { ca: certificate.cert });
  await up();
  assert.equal((await store.take(charge('a'))).refusedBy, undefined);
  const strict = { timings: { outMs: 60_000 } };
  const untrusted = createStore(t, good.address, strict);
  await untrusted.lines.until((all) => all.length === 1);
  assert.match(untrusted.lines.all[0] ?? '', /"error":"DEPTH_ZERO_SELF_SIGNED_CERT"/);
  const elsewhere = createCertificate('elsewhere.example');
  const misnamed = await startScriptedEngine(t, wellAnswered, { certificate: elsewhere, host: 'localhost', credentials: ':secret@' });
  const mistrusted = createStore(t, misnamed.address, { ...strict, ca: elsewhere.cert });
  await mistrusted.lines.until((all) => all.length === 1);
  assert.match(mistrusted.lines.all[0] ?? '', /"error":"ERR_TLS_CERT_ALTNAME_INVALID"/);
  assert.deepEqual([misnamed.commands.all, untrusted.store.isUp], [[], false]);
});

test('whatever an engine does, every question is decided, and no place is left taken in the end', async (t) => {
  const random = createRandom(7);
  /** The places that the engine has given away. */
  const places = new Set<string>();
  const silent = new Set<unknown>();
  let isGood = false;
  const obey = (command: string): void => {
    const [kind, , first = '', second = ''] = command.replace(/^EVAL /, '').split(' ');
    if (kind === 'TAKE') places.add(second);
    for (const lease of (kind === 'SETTLE' ? second : kind === 'RENEW' ? first : '').split(',')) {
      if (kind === 'SETTLE') places.delete(lease);
      else if (lease !== '') places.add(lease);
    }
  };
  const engine = await startScriptedEngine(t, (words, socket) => {
    if (isProbe(words)) return ADMITTED;
    // Whoever leaves one question out answers none after it: the order of answers is all that tells what they are about.
    if (silent.has(socket)) return undefined;
    const command = describeCommand(words);
    if (isGood) {
      obey(command);
      return ADMITTED;
    }
    switch (random.below(14)) {
      case 0:
        return '-LOADING\r\n';
      case 1:
        return command.includes('TAKE') ? REFUSED : '-OOM\r\n';
      case 2:
        socket.destroy();
        return undefined;
      case 3:
        obey(command);
        socket.destroy();
        return undefined;
      case 4:
        obey(command);
        socket.end('*5\r\n:0\r\n');
        return undefined;
      case 5:
        obey(command);
        if (random.below(4) > 0) return ADMITTED;
        silent.add(socket);
        return undefined;
      default:
        obey(command);
        return ADMITTED;
    }
  });
  const { store, local, failures, up } = createStore(t, engine.address, { timings: { answerMs: 15, outMsMax: 2, renewMs: 5 } });
  await up();
  const running: Charge[] = [];
  for (let count = 0; count < 300; count += 1) {
    local.admits = random.below(5) === 0 ? 0 : Infinity;
    const asked = Array.from({ length: 1 + random.below(4) }, (_, index) => charge(`${count}.${index}`, { caller: random.pick(['ann', 'bob']) }));
    const decisions = await Promise.all(asked.map((one) => store.take(one)));
    running.push(...asked.filter((_, index) => decisions[index]?.refusedBy === undefined));
    while (running.length > random.below(20)) store.settle(running.splice(random.below(running.length), 1)[0] as Charge, random.below(100) - 50);
    if (random.below(10) > 0) await up();
  }
  assert.ok(failures.all.length > 100 && engine.connections.all.length > 50);
  isGood = true;
  for (const one of running) store.settle(one, 0);
  await up();
  while (places.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
});
