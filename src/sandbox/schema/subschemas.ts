/**
 * The schemas inside a JSON schema, and what its references point at.
 *
 * Where a keyword holds schemas is the same for every provider; which keywords one takes is its protocol's own table.
 * Source: JSON Schema 2020-12, core, keywords for applying subschemas.
 */

import { isObject, listField } from '../../base/loose.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** A schema inside another. */
export type Subschema = {
  readonly schema: Schema;
  /** The keys that lead to it. */
  readonly place: readonly string[];
  /** What encloses it, the outermost first. */
  readonly parents: readonly Schema[];
  /** Whether it is, or is inside, a property that may be left out. */
  readonly isOptional: boolean;
};

const MAPS = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SINGLES = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedProperties', 'unevaluatedItems'];
/** Deeper than any provider takes, and not so deep that the stack ends first. */
const SCHEMA_DEPTH_MAX = 100;

/** A schema and all inside it, from the outside inwards; what is deeper than the limit is not there. */
export function subschemasOf(root: unknown): readonly Subschema[] {
  const found: Subschema[] = [];
  const visit = (schema: unknown, place: readonly string[], parents: readonly Schema[], isOptional: boolean): void => {
    if (!isObject(schema) || parents.length > SCHEMA_DEPTH_MAX) return;
    found.push({ schema, place, parents, isOptional });
    const required = listField(schema, 'required');
    const go = (inner: unknown, keyword: string, key?: string): void => {
      const isLeft = keyword === 'properties' && !required.includes(key);
      visit(inner, key === undefined ? [...place, keyword] : [...place, keyword, key], [...parents, schema], isOptional || isLeft);
    };
    for (const keyword of Object.keys(schema)) {
      const value = schema[keyword];
      if (SINGLES.includes(keyword)) go(value, keyword);
      if (LISTS.includes(keyword) && Array.isArray(value)) value.forEach((item, index) => go(item, keyword, String(index)));
      if (MAPS.includes(keyword) && isObject(value)) for (const key of Object.keys(value)) go(value[key], keyword, key);
    }
  };
  visit(root, [], [], false);
  return found;
}

/** The schema that a local reference names; undefined when there is none, or when it is not local. */
export function resolveReference(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  return reference.split('/').slice(1).reduce<unknown>((schema, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(schema)) return schema[Number(key)] as unknown;
    return isObject(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;
  }, root);
}

/** Whether a schema leads back to itself. `isFollowed` says which of the inner schemas count. */
export function isRecursive(root: unknown, isFollowed: (inner: Subschema) => boolean = () => true): boolean {
  const isOpen = new Set<unknown>();
  const isDone = new Set<unknown>();
  const visit = (target: unknown): boolean => {
    if (isOpen.has(target)) return true;
    if (isDone.has(target) || !isObject(target)) return false;
    isOpen.add(target);
    const loops = subschemasOf(target).some((inner) => {
      const reference = inner.schema['$ref'];
      const isDefinition = inner.place[0] === '$defs' || inner.place[0] === 'definitions';
      return typeof reference === 'string' && !isDefinition && isFollowed(inner) && visit(resolveReference(root, reference));
    });
    isOpen.delete(target);
    isDone.add(target);
    return loops;
  };
  return visit(root);
}

/** The types that a schema names; null among them where it may be null. */
export function typesOf(schema: Schema): readonly string[] {
  // Gemini's own schemas write types in upper case.
  return [schema['type']].flat().filter((type) => typeof type === 'string').map((type) => type.toLowerCase());
}
