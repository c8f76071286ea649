/**
 * A value that fits a JSON schema: the same one every time, and never a large one, however the schema goes round.
 *
 * Knows the keywords that providers enforce. What only a search could satisfy (`not`, `if`, `dependentRequired`) is not
 * looked at.
 * Source: JSON Schema 2020-12, validation.
 */

import { RawJson } from '../../base/json/value.ts';
import type { JsonOut } from '../../base/json/value.ts';
import { isObject, listField, numberField } from '../../base/loose.ts';
import { sampleText } from './pattern.ts';
import { resolveReference, typesOf } from './subschemas.ts';
import type { Schema } from './subschemas.ts';

export type SampleSettings = {
  /** Which of several values: the next call of a function gets the next ones. */
  readonly variant: number;
  /** Whether required properties come first, whatever the order in the schema. */
  readonly isRequiredFirst?: boolean;
};

/** From here on a schema that goes round is ended where it may be. */
const DEPTH_MAX = 8;
/** How many values in all, before only what has to be there is. */
const VALUES_MAX = 500;
/** Where even that does not end, the value is cut: it then fits no schema, but no value would. */
const DEPTH_CUT = 40;
const VALUES_CUT = 2000;
const ITEMS_MAX = 100;

type Sampling = SampleSettings & { readonly root: unknown; valueCount: number };
/** `name`: the key it stands under, which texts are made of. */
type Spot = { readonly name: string; readonly variant: number; readonly depth: number };

/** A value that fits. */
export function sampleValue(schema: unknown, settings: SampleSettings): JsonOut {
  return sample({ ...settings, root: schema, valueCount: 0 }, schema, { name: 'value', variant: settings.variant, depth: 0 });
}

function sample(sampling: Sampling, given: unknown, spot: Spot): JsonOut {
  sampling.valueCount += 1;
  const schema = settled(sampling, given, spot);
  const allowed = listField(schema, 'enum');
  const chosen = Object.hasOwn(schema, 'const') ? schema['const'] : allowed[spot.variant % Math.max(1, allowed.length)];
  if (chosen !== undefined) return new RawJson(JSON.stringify(chosen));
  if (spot.depth > DEPTH_CUT || sampling.valueCount > VALUES_CUT) return null;
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(sampling, schema, spot);
    case 'array':
      return sampleArray(sampling, schema, spot);
    case 'integer':
      return sampleNumber(schema, spot.variant + 1, 1);
    case 'number':
      return sampleNumber(schema, spot.variant + 0.5, undefined);
    case 'boolean':
      return spot.variant % 2 === 0;
    case 'null':
      return null;
    default:
      return sampleText(schema, spot.name, spot.variant);
  }
}

function typeOf(schema: Schema): string {
  const types = typesOf(schema);
  const named = types.find((type) => type !== 'null') ?? types[0];
  if (named !== undefined) return named;
  if (isObject(schema['properties'])) return 'object';
  return schema['items'] !== undefined || schema['prefixItems'] !== undefined ? 'array' : 'string';
}

/** Whether only what has to be there is added. */
function isEnding(sampling: Sampling, { depth }: Spot): boolean {
  return depth >= DEPTH_MAX || sampling.valueCount > VALUES_MAX;
}

const REFERENCES_MAX = 20;

/** The schema with its references followed, its alternatives chosen and its parts put together. */
function settled(sampling: Sampling, given: unknown, spot: Spot): Schema {
  let schema: Schema = isObject(given) ? given : {};
  for (let step = 0; step < REFERENCES_MAX; step += 1) {
    const { $ref: reference, allOf, anyOf, oneOf, ...own } = schema;
    const alternatives = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) && list.length > 0 ? [chosenOf(sampling, list, spot)] : []));
    const target = typeof reference === 'string' ? [resolveReference(sampling.root, reference)] : [];
    const parts = [...target, ...(Array.isArray(allOf) ? allOf : []), ...alternatives].filter(isObject);
    if (parts.length === 0) return own;
    schema = parts.reduce<Schema>(merged, own);
  }
  return schema;
}

/** The first; where an end is wanted, null or else one that leads nowhere further. */
function chosenOf(sampling: Sampling, alternatives: readonly unknown[], spot: Spot): unknown {
  if (!isEnding(sampling, spot)) return alternatives[0];
  const isNull = (schema: unknown): boolean => isObject(schema) && typesOf(schema).includes('null');
  const isFlat = (schema: unknown): boolean => isObject(schema) && schema['$ref'] === undefined;
  return alternatives.find(isNull) ?? alternatives.find(isFlat) ?? alternatives[0];
}

function merged(left: Schema, right: Schema): Schema {
  const properties = isObject(left['properties']) && isObject(right['properties']) ? { properties: { ...left['properties'], ...right['properties'] } } : {};
  const required = [...new Set([...listField(left, 'required'), ...listField(right, 'required')])];
  return { ...left, ...right, ...properties, ...(required.length > 0 ? { required } : {}) };
}

function sampleObject(sampling: Sampling, schema: Schema, spot: Spot): JsonOut {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = listField(schema, 'required').map(String);
  const inOrder = [...new Set([...listField(schema, 'propertyOrdering').map(String), ...Object.keys(properties), ...required])];
  const isWanted = (key: string): boolean => required.includes(key) || (!isEnding(sampling, spot) && Object.hasOwn(properties, key));
  const isFirst = (key: string): boolean => sampling.isRequiredFirst === true && required.includes(key);
  const keys = [...inOrder.filter(isFirst), ...inOrder.filter((key) => !isFirst(key))].filter(isWanted);
  const value = new Map<string, JsonOut>();
  for (const key of keys) value.set(key, sample(sampling, properties[key], { ...spot, name: key, depth: spot.depth + 1 }));
  const others = schema['additionalProperties'];
  const wanted = Math.min(numberField(schema, 'minProperties') ?? (isObject(others) && keys.length === 0 && !isEnding(sampling, spot) ? 1 : 0), ITEMS_MAX);
  for (let index = 1; value.size < wanted && others !== false && index <= ITEMS_MAX; index += 1) {
    value.set(`key ${index}`, sample(sampling, others, { name: `key ${index}`, variant: spot.variant + index - 1, depth: spot.depth + 1 }));
  }
  return value;
}

function sampleArray(sampling: Sampling, schema: Schema, spot: Spot): JsonOut {
  const heads = listField(schema, 'prefixItems');
  const least = Math.max(numberField(schema, 'minItems') ?? 0, 0);
  const usual = isEnding(sampling, spot) ? least : Math.max(least, heads.length, 1);
  const count = Math.min(usual, numberField(schema, 'maxItems') ?? ITEMS_MAX, ITEMS_MAX);
  return Array.from({ length: count }, (_, index) =>
    sample(sampling, heads[index] ?? schema['items'], { name: spot.name, variant: spot.variant + index, depth: spot.depth + 1 }));
}

function sampleNumber(schema: Schema, usual: number, wholeStep: number | undefined): number {
  const step = numberField(schema, 'multipleOf') ?? wholeStep;
  const nudge = step ?? 0.5;
  const least = Math.max(numberField(schema, 'minimum') ?? -Infinity, (numberField(schema, 'exclusiveMinimum') ?? -Infinity) + nudge);
  const most = Math.min(numberField(schema, 'maximum') ?? Infinity, (numberField(schema, 'exclusiveMaximum') ?? Infinity) - nudge);
  const inside = Math.max(Math.min(usual, most), least);
  if (step === undefined) return inside;
  const up = Math.ceil(inside / step) * step;
  return up <= most ? up : Math.floor(inside / step) * step;
}

/** The arguments of a call: always an object. */
export function sampleArguments(schema: unknown, variant: number): JsonOut {
  const value = sampleValue(schema, { variant });
  return value instanceof Map ? value : {};
}
