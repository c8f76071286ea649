/**
 * Functions in namespaces (OpenAI, function calling, defining namespaces), in which Codex puts the tools of its MCP servers.
 *
 * Other makers' models are shown them as plain functions, each under one name for namespace and function. What such a name
 * stands for is known from the request itself, so a call of one goes back to the client as the function that it declared.
 */

import type { Fields } from '../../base/fields.ts';
import { memberOf } from '../../base/json/member.ts';
import { JsonArray } from '../../base/json/value.ts';
import type { JsonObject, JsonValue } from '../../base/json/value.ts';
import { fittingName } from '../tool-name.ts';

/** A function as its client declared it. */
export type NamespacedFunction = { readonly namespace: string; readonly name: string };

/** The one name of a function in a namespace: the same in every request. Where both are too long for it, their digest tells them apart. */
export function joinedName({ namespace, name }: NamespacedFunction): string {
  return fittingName(`${namespace}__${name}`, JSON.stringify([namespace, name]));
}

/** The one name of the function that a call or a choice names. */
export function readName(fields: Fields): string {
  const name = fields.requiredText('name');
  const namespace = fields.string('namespace') || undefined;
  return namespace === undefined ? name : joinedName({ namespace, name });
}

/** The functions in namespaces that a request declares, by their one name. */
export function namespacedFunctions(source: JsonObject | undefined): ReadonlyMap<string, NamespacedFunction> {
  const functions = new Map<string, NamespacedFunction>();
  for (const tool of itemsOf(memberOf(source, 'tools'))) {
    const namespace = memberOf(tool, 'type') === 'namespace' ? memberOf(tool, 'name') : undefined;
    if (typeof namespace !== 'string') continue;
    for (const inner of itemsOf(memberOf(tool, 'tools'))) {
      const name = memberOf(inner, 'type') === 'function' ? memberOf(inner, 'name') : undefined;
      if (typeof name === 'string') functions.set(joinedName({ namespace, name }), { namespace, name });
    }
  }
  return functions;
}

function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return value instanceof JsonArray ? value.items : [];
}
