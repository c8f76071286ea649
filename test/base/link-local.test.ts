import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLinkLocal } from '../../src/base/link-local.ts';

test('isLinkLocal knows metadata servers and this machine, and nobody whose name begins or ends like theirs', () => {
  const own = ['169.254.169.254', '169.254.170.2', '[fd00:ec2::254]', '[fd00:ec2::23]', '[fe80::1]', 'metadata.google.internal', 'metadata.google.internal.', 'metadata', 'localhost', '127.0.0.1', '[::1]'];
  const others = ['169.254.169.254.example.com', '1169.254.1.1', '169.255.0.1', 'metadata.google.internal.example.com', 'x.metadata', '[fd00::1]', 'sts.amazonaws.com'];
  for (const hostname of own) assert.equal(isLinkLocal(hostname), true, hostname);
  for (const hostname of others) assert.equal(isLinkLocal(hostname), false, hostname);
});
