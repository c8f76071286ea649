import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKeptFromNetwork } from '../../src/base/network-permission.ts';

const NEW = new Set(['--allow-net', '--allow-fs-read']);
const OLD = new Set(['--allow-fs-read']);

test('isKeptFromNetwork is true under the permission model of a Node that has --allow-net, where that is not given', () => {
  assert.equal(isKeptFromNetwork({ permission: { has: (scope) => scope !== 'net' }, allowedNodeEnvironmentFlags: NEW }), true);
});

test('isKeptFromNetwork is false where the flag is given, where Node knows none, and without the permission model', () => {
  assert.equal(isKeptFromNetwork({ permission: { has: () => true }, allowedNodeEnvironmentFlags: NEW }), false);
  assert.equal(isKeptFromNetwork({ permission: { has: () => false }, allowedNodeEnvironmentFlags: OLD }), false);
  assert.equal(isKeptFromNetwork({ allowedNodeEnvironmentFlags: NEW }), false);
  assert.equal(isKeptFromNetwork(process), false);
});
