import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Roster } from '../../src/base/roster.ts';

type Member = { readonly name: number; seat: number };

test('whoever comes and goes in whatever order, those who are there are told, each once', () => {
  const roster = new Roster<Member>();
  const there = new Set<Member>();
  let random = 1;
  for (let step = 0; step < 10_000; step += 1) {
    random = (random * 48_271) % 2_147_483_647;
    const members = [...there];
    const leaving = members[random % 20];
    if (leaving === undefined) {
      const member = { name: step, seat: -1 };
      roster.add(member);
      there.add(member);
    } else {
      roster.delete(leaving);
      there.delete(leaving);
    }
    assert.equal(roster.size, there.size);
    const told = roster.all();
    assert.equal(told.length, there.size);
    assert.deepEqual(new Set(told), there);
  }
});

test('who goes while all are told is told all the same, and so is everybody else', () => {
  const roster = new Roster<Member>();
  for (let name = 0; name < 5; name += 1) roster.add({ name, seat: -1 });
  const told: number[] = [];
  for (const member of roster.all()) {
    roster.delete(member);
    told.push(member.name);
  }
  assert.deepEqual(told, [0, 1, 2, 3, 4]);
  assert.equal(roster.size, 0);
});

test('one that is not there cannot leave, and takes nobody along', () => {
  const roster = new Roster<Member>();
  const [first, second, third] = [{ name: 1, seat: 0 }, { name: 2, seat: 0 }, { name: 3, seat: 0 }];
  roster.add(first);
  roster.add(second);
  roster.delete(third);
  assert.deepEqual(roster.all(), [first, second]);
  roster.delete(first);
  roster.delete(first);
  assert.deepEqual(roster.all(), [second]);
});
