import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../src/base/json/value.ts';
import { schemaWith } from '../../src/core/tool-schema.ts';

test('schemaWith gives a tool without parameters the schema of no arguments', () => {
  assert.equal(schemaWith(undefined, []).text, '{"type":"object","properties":{}}');
});

const rows: readonly (readonly [schema: string, demanded: readonly ('type' | 'properties')[], expected: string])[] = [
  ['{ "a" : 1.0 }', [], '{ "a" : 1.0 }'],
  ['{"type":"object","properties":{"9":{},"1":{}}}', ['type', 'properties'], '{"type":"object","properties":{"9":{},"1":{}}}'],
  ['{"type": "object"}', ['type'], '{"type": "object"}'],
  ['{"type": "object"}', ['type', 'properties'], '{"properties":{},"type": "object"}'],
  ['{}', ['type'], '{"type":"object"}'],
  ['{ }', ['type', 'properties'], '{"type":"object","properties":{} }'],
  ['{"oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"const":1e-7}}}', ['type'], '{"type":"object","oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"const":1e-7}}}'],
];
for (const [schema, demanded, expected] of rows) {
  test(`schemaWith writes ${schema} with ${demanded.join(' and ') || 'nothing'} as ${expected}`, () => {
    assert.equal(schemaWith(new RawJson(schema), demanded).text, expected);
  });
}
