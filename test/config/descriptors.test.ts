import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionsMaxFrom } from '../../src/config/descriptors.ts';

function limits(soft: string): string {
  return `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             63000                63000                processes \nMax open files            ${soft.padEnd(20)} 1048576              files     \n`;
}

test('connectionsMaxFrom leaves a descriptor for a provider beside each caller, and some for the process', () => {
  const cases: readonly (readonly [soft: string, connections: number | undefined])[] = [
    ['1024', 488],
    ['65536', 32744],
    ['100', 26],
    ['51', 1],
    ['20', 1],
    ['unlimited', undefined],
  ];
  for (const [soft, connections] of cases) assert.equal(connectionsMaxFrom(() => limits(soft)), connections, soft);
});

test('connectionsMaxFrom knows nothing where the limit cannot be read', () => {
  assert.equal(connectionsMaxFrom(() => ''), undefined);
  assert.equal(connectionsMaxFrom(() => { throw new Error('no such file'); }), undefined);
});
