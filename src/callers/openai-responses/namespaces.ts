/**
 * Functions in namespaces (OpenAI, function calling, defining namespaces), in which Codex puts the tools of its MCP servers.
 *
 * Other vendors' models are shown them as plain functions, each under one name for namespace and function. What such a name
 * stands for is known from the request itself, so a call of one goes back to the client as the function that it declared.
 */

import type { Fields } from '../../base/fields.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import type { JsonObject, JsonValue } from '../../base/json/value.ts';
import { cutName, fittingName } from '../tool-name.ts';

/** A function as its client declared it. */
export type NamespacedFunction = { readonly namespace: string; readonly name: string };

/** The names under which a model is shown a request's functions in namespaces: each its own, and that of no other tool. */
export class FunctionNames {
  /** By identity. */
  readonly #names = new Map<string, string>();
  readonly #functions = new Map<string, NamespacedFunction>();

  constructor(source: JsonObject | undefined) {
    const tools = itemsOf(memberOf(source, 'tools'));
    const taken = new Set(tools.map((tool) => nameOfType(tool, 'function')));
    for (const tool of tools) {
      const namespace = nameOfType(tool, 'namespace');
      if (namespace === undefined) continue;
      for (const inner of itemsOf(memberOf(tool, 'tools'))) {
        const name = nameOfType(inner, 'function');
        if (name !== undefined) this.#add({ namespace, name }, taken);
      }
    }
  }

  /** `a__b` and `c` are joined as `a` and `b__c` are: the digest of the later one tells them apart. */
  #add(declared: NamespacedFunction, taken: Set<string | undefined>): void {
    const identity = identityOf(declared);
    if (this.#names.has(identity)) return;
    const joined = joinedName(declared, identity);
    const name = taken.has(joined) ? cutName(joined, identity) : joined;
    taken.add(name);
    this.#names.set(identity, name);
    this.#functions.set(name, declared);
  }

  /** The one name of a function in a namespace, declared or not: the same in every request with the same tools. */
  nameOf(named: NamespacedFunction): string {
    const identity = identityOf(named);
    return this.#names.get(identity) ?? joinedName(named, identity);
  }

  /** The one name of the function that a call or a choice names. */
  read(fields: Fields): string {
    const name = fields.requiredText('name');
    const namespace = fields.string('namespace') || undefined;
    return namespace === undefined ? name : this.nameOf({ namespace, name });
  }

  /** The function that a name stands for; undefined for the name of a plain one. */
  declaredAs(name: string): NamespacedFunction | undefined {
    return this.#functions.get(name);
  }
}

/** Where both are too long for it, their digest tells them apart. */
function joinedName({ namespace, name }: NamespacedFunction, identity: string): string {
  return fittingName(`${namespace}__${name}`, identity);
}

/** What tells a function apart, as one text. */
function identityOf({ namespace, name }: NamespacedFunction): string {
  return JSON.stringify([namespace, name]);
}

/** A tool's name; undefined for one of another type. */
function nameOfType(tool: JsonValue, type: string): string | undefined {
  const name = memberOf(tool, 'type') === type ? memberOf(tool, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
