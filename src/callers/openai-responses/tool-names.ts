/**
 * Tools as a client declares them that other vendors' models do not know so: functions in namespaces (OpenAI, function calling,
 * defining namespaces), in which Codex puts the tools of its MCP servers, and custom tools, which take a text.
 *
 * The models are shown plain functions, each under one name for namespace and tool. What such a name stands for is known from
 * the request itself, so a call of one goes back to the client as the tool that it declared.
 */

import type { Fields } from '../../base/fields.ts';
import { itemsOf, memberOf } from '../../base/json/member.ts';
import type { JsonObject, JsonValue } from '../../base/json/value.ts';
import { cutName, fittingName } from '../tool-name.ts';

/** The type of an item of a conversation that declares tools: where Codex puts all of its own for the newest of OpenAI's models. */
export const ADDITIONAL_TOOLS = 'additional_tools';

type NamedTool = { readonly namespace: string; readonly name: string };

/** A tool as its client declared it, where the model is shown another. */
export type DeclaredTool = { readonly namespace: string | undefined; readonly name: string; readonly isCustom: boolean };

/** The names under which a model is shown a request's tools: each its own, and that of no other tool. */
export class ToolNames {
  /** By identity. */
  readonly #names = new Map<string, string>();
  readonly #declared = new Map<string, DeclaredTool>();

  constructor(source: JsonObject | undefined) {
    const tools = toolsIn(source);
    // Where a name comes again, the first is shown.
    const plain = new Map(tools.map((tool) => [callableName(tool), tool] as const).reverse());
    const taken = new Set(plain.keys());
    for (const tool of tools) {
      const name = memberOf(tool, 'name');
      if (typeof name !== 'string') continue;
      if (isCustom(tool) && plain.get(name) === tool) this.#declared.set(name, { namespace: undefined, name, isCustom: true });
      if (memberOf(tool, 'type') !== 'namespace') continue;
      for (const inner of itemsOf(memberOf(tool, 'tools'))) {
        const innerName = callableName(inner);
        if (innerName !== undefined) this.#add({ namespace: name, name: innerName }, isCustom(inner), taken);
      }
    }
  }

  /** `a__b` and `c` are joined as `a` and `b__c` are: the digest of the later one tells them apart. */
  #add(named: NamedTool, isCustom: boolean, taken: Set<string | undefined>): void {
    const identity = identityOf(named);
    if (this.#names.has(identity)) return;
    const joined = joinedName(named, identity);
    const name = taken.has(joined) ? cutName(joined, identity) : joined;
    taken.add(name);
    this.#names.set(identity, name);
    this.#declared.set(name, { ...named, isCustom });
  }

  /** The one name of a tool in a namespace, declared or not: the same in every request with the same tools. */
  nameOf(named: NamedTool): string {
    const identity = identityOf(named);
    return this.#names.get(identity) ?? joinedName(named, identity);
  }

  /** The one name of the tool that a call or a choice names. */
  read(fields: Fields): string {
    const name = fields.requiredText('name');
    const namespace = fields.string('namespace') || undefined;
    return namespace === undefined ? name : this.nameOf({ namespace, name });
  }

  /** The tool that a name stands for; undefined for the name of a plain function. */
  declaredAs(name: string): DeclaredTool | undefined {
    return this.#declared.get(name);
  }
}

/** All tools of a request, wherever they stand in it. */
function toolsIn(source: JsonObject | undefined): readonly JsonValue[] {
  const added = itemsOf(memberOf(source, 'input')).filter((item) => memberOf(item, 'type') === ADDITIONAL_TOOLS);
  return [source, ...added].flatMap((owner) => itemsOf(memberOf(owner, 'tools')));
}

/** Where both are too long for it, their digest tells them apart. */
function joinedName({ namespace, name }: NamedTool, identity: string): string {
  return fittingName(`${namespace}__${name}`, identity);
}

/** What tells a tool apart, as one text. */
function identityOf({ namespace, name }: NamedTool): string {
  return JSON.stringify([namespace, name]);
}

function isCustom(tool: JsonValue): boolean {
  return memberOf(tool, 'type') === 'custom';
}

/** The name of a function or a custom tool; undefined for a tool of another type. */
function callableName(tool: JsonValue): string | undefined {
  const name = memberOf(tool, 'type') === 'function' || isCustom(tool) ? memberOf(tool, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
