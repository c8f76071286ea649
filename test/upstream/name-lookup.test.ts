import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { NameLookup, PLATFORM } from '../../src/upstream/name-lookup.ts';
import type { AddressReceiver, NameSource } from '../../src/upstream/name-lookup.ts';

const MINUTE_MS = 60_000;
const A: LookupAddress = { address: '192.0.2.1', family: 4 };
const B: LookupAddress = { address: '192.0.2.2', family: 4 };
const SIX: LookupAddress = { address: '2001:db8::1', family: 6 };

/** A lookup with a clock and name servers of the test's own. */
function openLookup(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 1e6;
  /** Every lookup so far. */
  const asked: string[] = [];
  const open = new Map<string, AddressReceiver>();
  /** Every probe so far. */
  const probed: string[] = [];
  const probes = new Map<string, (isAnswered: boolean) => void>();
  const source: NameSource = {
    query(hostname, onAnswer) {
      asked.push(hostname);
      open.set(hostname, onAnswer);
    },
    probe(hostname, onAnswer) {
      probed.push(hostname);
      probes.set(hostname, onAnswer);
    },
  };
  const names = new NameLookup(source, () => nowMs);
  const take = (hostname: string): AddressReceiver => {
    const onAnswer = open.get(hostname);
    if (onAnswer === undefined) assert.fail(`${hostname} is not being looked up`);
    open.delete(hostname);
    return onAnswer;
  };
  return {
    asked,
    probed,
    /** The outcome of a name's probe. */
    hear: (hostname: string, isAnswered: boolean): void => {
      const onAnswer = probes.get(hostname) ?? assert.fail(`${hostname} is not being probed`);
      probes.delete(hostname);
      onAnswer(isAnswered);
    },
    pass: (ms: number): void => {
      nowMs += ms;
      t.mock.timers.tick(ms);
    },
    answer: (hostname: string, ...addresses: readonly LookupAddress[]): void => take(hostname)(null, addresses),
    fail: (hostname: string, code: string): void => take(hostname)(errorOf(code), []),
    /** Asks as a socket does. */
    ask: (hostname: string, options: LookupOptions = {}): Asked => {
      const asked: Asked = { outcome: undefined, calls: 0 };
      names.lookup(hostname, { all: true, ...options }, (error, addresses, family) => {
        asked.calls += 1;
        asked.outcome = error === null ? (family === undefined ? addresses : [addresses, family]) : error.code;
      });
      assert.equal(asked.calls, 0, 'the answer came before the asker had returned');
      return asked;
    },
  };
}

type Asked = { outcome: unknown; calls: number };

/** Lets answers that are there already arrive. */
async function arrived(): Promise<void> {
  await new Promise(setImmediate);
}

function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error('x'), { code });
}

describe('NameLookup of a new name', () => {
  test('asks once for all who wait, and tells each of them once', async (t) => {
    const { ask, asked, answer } = openLookup(t);
    const waiting = Array.from({ length: 100 }, () => ask('a.test'));
    assert.deepEqual(asked, ['a.test']);
    answer('a.test', A, SIX);
    await arrived();
    for (const one of waiting) assert.deepEqual(one, { outcome: [A, SIX], calls: 1 });
  });

  test('tells all who wait that it failed, and asks again for the next', async (t) => {
    const { ask, asked, fail, answer } = openLookup(t);
    const [first, second] = [ask('a.test'), ask('a.test')];
    fail('a.test', 'EAI_AGAIN');
    assert.deepEqual([first.outcome, second.outcome], ['EAI_AGAIN', 'EAI_AGAIN']);
    const third = ask('a.test');
    assert.deepEqual(asked, ['a.test', 'a.test']);
    answer('a.test', A);
    assert.deepEqual(third.outcome, [A]);
  });

  test('gives the last good answer to whoever finds too many waiting for a new one', async (t) => {
    const { ask, answer, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    const waiting = Array.from({ length: 10_000 }, () => ask('a.test'));
    const next = ask('a.test');
    await arrived();
    assert.deepEqual([waiting.at(-1)?.outcome, next.outcome], [undefined, [A]]);
  });

  test('lets no more than 10,000 wait: the next fails at once', async (t) => {
    const { ask, asked, answer } = openLookup(t);
    const waiting = Array.from({ length: 10_000 }, () => ask('a.test'));
    const next = ask('a.test');
    await arrived();
    assert.deepEqual([next.outcome, waiting[0]?.outcome], ['EAI_AGAIN', undefined]);
    answer('a.test', A);
    assert.deepEqual([waiting[999]?.outcome, next.calls, asked.length], [[A], 1, 1]);
  });
});

describe('NameLookup answers in the form that was asked for', () => {
  for (const [what, options, outcome] of [
    ['all addresses', { all: true }, [SIX, A, B]],
    ['the first address', { all: false }, ['2001:db8::1', 6]],
  ] as const) {
    test(what, (t) => {
      const { ask, answer } = openLookup(t);
      const asked = ask('a.test', options);
      answer('a.test', SIX, A, B);
      assert.deepEqual(asked.outcome, outcome);
    });
  }
});

describe('NameLookup of the machine itself', () => {
  for (const hostname of ['localhost', 'api.localhost']) {
    test(`asks nobody for ${hostname}`, async (t) => {
      const { ask, asked } = openLookup(t);
      const [all, one] = [ask(hostname), ask(hostname, { all: false })];
      await arrived();
      assert.deepEqual(all.outcome, [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }]);
      assert.deepEqual(one.outcome, ['127.0.0.1', 4]);
      assert.deepEqual(asked, []);
    });
  }

  test('takes no other name for it', (t) => {
    const { ask, asked, answer } = openLookup(t);
    for (const hostname of ['localhost.test', 'notlocalhost']) {
      ask(hostname);
      answer(hostname, A);
    }
    assert.deepEqual(asked, ['localhost.test', 'notlocalhost']);
  });
});

describe('NameLookup of a name that it knows', () => {
  test('keeps an answer for ten seconds', async (t) => {
    const { ask, asked, answer, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(9999);
    const kept = ask('a.test');
    await arrived();
    assert.deepEqual(kept.outcome, [A]);
    assert.deepEqual(asked, ['a.test']);
    pass(1);
    const renewed = ask('a.test');
    assert.equal(renewed.outcome, undefined);
    answer('a.test', B);
    assert.deepEqual(renewed.outcome, [B]);
  });

  test('gives the last good answer half a second into a renewal, and to who comes later at once', async (t) => {
    const { ask, asked, answer, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    const patient = ask('a.test');
    pass(499);
    assert.equal(patient.outcome, undefined);
    pass(1);
    assert.deepEqual(patient.outcome, [A]);
    const late = ask('a.test');
    await arrived();
    assert.deepEqual(late.outcome, [A]);
    assert.equal(asked.length, 2);
    answer('a.test', B);
    const next = ask('a.test');
    await arrived();
    assert.deepEqual(next.outcome, [B]);
    assert.deepEqual([patient.calls, late.calls, asked.length], [1, 1, 2]);
  });

  test('gives the last good answer where the renewal fails, and tries again after half a minute', async (t) => {
    const { ask, asked, answer, fail, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    const first = ask('a.test');
    fail('a.test', 'EAI_AGAIN');
    assert.deepEqual(first.outcome, [A]);
    for (const ms of [0, 29_999]) {
      pass(ms);
      const next = ask('a.test');
      await arrived();
      assert.deepEqual([next.outcome, asked.length], [[A], 2]);
    }
    pass(1);
    ask('a.test');
    assert.equal(asked.length, 3);
  });

  test('gives the last good answer for an hour', async (t) => {
    const { ask, asked, answer, fail, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(60 * MINUTE_MS - 1);
    const last = ask('a.test');
    fail('a.test', 'EAI_AGAIN');
    assert.deepEqual(last.outcome, [A]);
    pass(1);
    const next = ask('a.test');
    fail('a.test', 'EAI_AGAIN');
    assert.deepEqual([next.outcome, asked.length], ['EAI_AGAIN', 3]);
  });

  test('does not give it to one whose wait began within the hour and ended after it', (t) => {
    const { ask, answer, fail, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(60 * MINUTE_MS - 1);
    const last = ask('a.test');
    pass(500);
    assert.equal(last.outcome, undefined);
    fail('a.test', 'EAI_AGAIN');
    assert.equal(last.outcome, 'EAI_AGAIN');
  });

  test('forgets a name of which the name servers say that it is gone', (t) => {
    const { ask, asked, answer, fail, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    const gone = ask('a.test');
    fail('a.test', 'ENOTFOUND');
    const next = ask('a.test');
    pass(500);
    assert.deepEqual([gone.outcome, next.outcome, asked.length], ['ENOTFOUND', undefined, 3]);
    answer('a.test', B);
    assert.deepEqual(next.outcome, [B]);
  });
});

describe('NameLookup beside a silent name server', () => {
  test('looks the others up as soon as theirs are seen to answer, after 100 who gave the silent one up', (t) => {
    const { ask, asked, hear, answer, pass } = openLookup(t);
    for (let count = 0; count < 100; count += 1) ask('silent.test');
    pass(5000);
    for (const hostname of ['a.test', 'b.test', 'c.test']) {
      const other = ask(hostname);
      hear(hostname, true);
      answer(hostname, A);
      assert.deepEqual(other.outcome, [A]);
    }
    assert.deepEqual(asked, ['silent.test', 'a.test', 'b.test', 'c.test']);
  });

  test('keeps the second thread free of a second silent one, which waits for the first', (t) => {
    const { ask, asked, probed, hear, fail, answer } = openLookup(t);
    for (const hostname of ['silent.test', 'mute.test', 'a.test']) ask(hostname);
    hear('mute.test', false);
    hear('a.test', true);
    assert.deepEqual(asked, ['silent.test', 'a.test']);
    answer('a.test', A);
    assert.deepEqual(asked, ['silent.test', 'a.test']);
    fail('silent.test', 'EAI_AGAIN');
    assert.deepEqual(asked, ['silent.test', 'a.test', 'mute.test']);
    assert.deepEqual(probed, ['mute.test', 'a.test', 'mute.test']);
  });

  test('probes a waiting name once at a time, and again for who asks later', (t) => {
    const { ask, asked, probed, hear, answer } = openLookup(t);
    ask('silent.test');
    const waiting = [ask('a.test'), ask('a.test')];
    assert.deepEqual(probed, ['a.test']);
    hear('a.test', false);
    assert.deepEqual(probed, ['a.test']);
    waiting.push(ask('a.test'));
    assert.deepEqual(probed, ['a.test', 'a.test']);
    hear('a.test', true);
    answer('a.test', A);
    assert.deepEqual(waiting.map(({ outcome }) => outcome), [[A], [A], [A]]);
    assert.deepEqual(asked, ['silent.test', 'a.test']);
  });

  test('looks up two names at a time, the others in the order of asking', (t) => {
    const { ask, asked, hear, answer, fail } = openLookup(t);
    for (const hostname of ['a.test', 'b.test', 'c.test', 'd.test', 'c.test']) ask(hostname);
    for (const hostname of ['d.test', 'b.test', 'c.test']) hear(hostname, true);
    assert.deepEqual(asked, ['a.test', 'd.test']);
    fail('d.test', 'ENOTFOUND');
    assert.deepEqual(asked, ['a.test', 'd.test', 'b.test']);
    answer('a.test', A);
    assert.deepEqual(asked, ['a.test', 'd.test', 'b.test', 'c.test']);
  });

  test('lets a name that was slow start only where both threads are free, whoever answers for it', (t) => {
    const { ask, asked, probed, answer, fail, pass } = openLookup(t);
    ask('slow.test');
    pass(1001);
    fail('slow.test', 'EAI_AGAIN');
    ask('a.test');
    const slow = ask('slow.test');
    assert.deepEqual([asked, probed], [['slow.test', 'a.test'], []]);
    answer('a.test', A);
    answer('slow.test', B);
    assert.deepEqual(slow.outcome, [B]);
  });

  test('takes a name for slow no longer once it was quick', (t) => {
    const { ask, probed, answer, pass } = openLookup(t);
    ask('a.test');
    pass(1001);
    answer('a.test', A);
    pass(MINUTE_MS);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    ask('silent.test');
    ask('a.test');
    assert.deepEqual(probed, ['a.test']);
  });

  test('gives the last good answer half a second after its turn did not come', async (t) => {
    const { ask, asked, answer, pass } = openLookup(t);
    ask('a.test');
    answer('a.test', A);
    pass(MINUTE_MS);
    ask('silent.test');
    const other = ask('a.test');
    pass(499);
    assert.equal(other.outcome, undefined);
    pass(1);
    assert.deepEqual(other.outcome, [A]);
    const next = ask('a.test');
    await arrived();
    assert.deepEqual([next.outcome, asked], [[A], ['a.test', 'silent.test']]);
  });

  test('is not misled by the outcome of a probe that came after the lookup', (t) => {
    const { ask, asked, probed, hear, answer, fail, pass } = openLookup(t);
    ask('silent.test');
    ask('a.test');
    fail('silent.test', 'EAI_AGAIN');
    hear('a.test', true);
    answer('a.test', A);
    assert.deepEqual(asked, ['silent.test', 'a.test']);
    pass(MINUTE_MS);
    ask('silent.test');
    ask('a.test');
    assert.deepEqual([asked.length, probed], [3, ['a.test', 'a.test']]);
  });
});

describe('The platform as a source of names', () => {
  test('gives addresses, or the code of why there are none', async () => {
    const outcomeOf = (hostname: string): Promise<unknown> => new Promise((resolve) => PLATFORM.query(hostname, (error, addresses) => resolve(error?.code ?? addresses)));
    assert.deepEqual(await outcomeOf('192.0.2.1'), [A]);
    assert.equal(await outcomeOf('no..name'), 'ENOTFOUND');
  });

  for (const [what, isAnswered] of [['that refuses', true], ['that is silent', false]] as const) {
    test(`takes a name server ${what} for one that ${isAnswered ? 'answers' : 'does not'}`, async (t) => {
      const server = createSocket('udp4', (question, { port, address }) => {
        if (!isAnswered) return;
        // A response whose code is REFUSED (RFC 1035, section 4.1.1).
        question.writeUInt16BE(0x8005, 2);
        server.send(question, port, address);
      });
      t.after(() => server.close());
      await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
      const { resolve4 } = dns.Resolver.prototype;
      t.mock.method(dns.Resolver.prototype, 'resolve4', function (this: dns.Resolver, ...words: unknown[]) {
        this.setServers([`127.0.0.1:${server.address().port}`]);
        Reflect.apply(resolve4, this, words);
      });
      assert.equal(await new Promise((resolve) => PLATFORM.probe('a.test', resolve)), isAnswered);
    });
  }
});
