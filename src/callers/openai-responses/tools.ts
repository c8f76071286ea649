/** The tools of a Responses request (OpenAI, Responses API, tools) and how the model may choose among them. */

import { Fields } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import type { Tool, ToolChoice } from '../../core/chat.ts';
import { unsupported } from '../body.ts';
import type { Ignored } from '../field-table.ts';
import type { Places } from '../places.ts';
import { ownName } from '../tool-name.ts';
import type { ToolNames } from './tool-names.ts';

/** Tools that only OpenAI runs, or that only its models can call. Codex names one of them in every request. */
const VENDOR_TOOLS: ReadonlySet<string> = new Set([
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
  'web_search',
]);

/** `web_search_preview_2025_03_11` and its like are versions of one tool. */
const VERSION = /(_preview)?(_\d{4}_\d{2}_\d{2})?$/;

type Tools = { readonly tools: readonly Tool[]; readonly toolChoice: ToolChoice | undefined };

/** Tools while they are read, and what is to be known of them. */
type Draft = {
  readonly tools: Tool[];
  readonly shown: Set<string>;
  readonly names: ToolNames;
  readonly ignored: Ignored;
  readonly places: Places;
  /** Whether a tool that is there already may come again: a conversation is sent with all that it has declared. */
  readonly mayRepeat: boolean;
};

/** `added`: the items of the conversation that declare further ones. */
export function readTools(fields: Fields, added: readonly Fields[], names: ToolNames, ignored: Ignored, places: Places): Tools {
  const tools: Tool[] = [];
  const shown = new Set<string>();
  const listed = [fields, ...added].flatMap((owner) => owner.list('tools', (item, path) => {
    const draft: Draft = { tools, shown, names, ignored, places, mayRepeat: owner !== fields };
    const tool = Fields.from(item, path);
    if (tool.any('type') === 'namespace') readNamespace(tool, path, draft);
    else addTool(tool, path, (name) => name, draft);
  }) ?? []);
  return { tools, toolChoice: readToolChoice(fields, names, listed.length, tools.length, ignored) };
}

/** Adds the tools of a namespace, without what it says of all of them; one without any is left out. */
function readNamespace(fields: Fields, path: Path, draft: Draft): void {
  const { names, ignored } = draft;
  const namespace = fields.requiredText('name');
  if (fields.string('description')) ignored.addOnce(fields, ['description']);
  const inner = fields.list('tools', (item, innerPath) => addTool(Fields.from(item, innerPath), innerPath, (name) => names.nameOf({ namespace, name }), draft));
  if (inner === undefined || inner.length === 0) ignored.add(path);
  else ignored.addUnreadOfItem(fields);
}

/** Adds a function or a custom tool, under the name that it is shown by; any other is left out. */
function addTool(fields: Fields, path: Path, shownAs: (name: string) => string, { tools, shown, ignored, places, mayRepeat }: Draft): void {
  const type = fields.requiredString('type');
  if (type !== 'function' && type !== 'custom') {
    if (!VENDOR_TOOLS.has(type.replace(VERSION, ''))) throw unsupported(fields.at('type'), 'only tools of type function and custom are supported');
    ignored.add(path);
    return;
  }
  const name = shownAs(fields.requiredText('name'));
  if (mayRepeat && shown.has(name)) return ignored.add(path);
  const tool: Tool = {
    name: ownName(name, fields, shown),
    description: fields.string('description') || undefined,
    parameters: type === 'custom' ? inputSchema(fields) : fields.opaqueObject('parameters')?.raw,
    strict: type === 'custom' ? undefined : fields.boolean('strict'),
  };
  tools.push(places.put(tool, path));
  ignored.addUnreadOfItem(fields);
}

/** The text that a custom tool takes, as the one argument of a function. Its grammar is told to the model, which nobody holds to it. */
function inputSchema(tool: Fields): RawJson {
  const format = tool.object('format');
  const grammar = format?.string('definition');
  const form = grammar === undefined ? '' : `, which has to match this ${format?.string('syntax') ?? ''} grammar:\n${grammar}`;
  const input = { type: 'string', description: `The whole input of the tool${form}` };
  return new RawJson(renderJson({ type: 'object', properties: { input }, required: ['input'], additionalProperties: false }));
}

/** `listedCount` = all tools of the request, `takenCount` = those of them that are passed on. */
function readToolChoice(fields: Fields, names: ToolNames, listedCount: number, takenCount: number, ignored: Ignored): ToolChoice | undefined {
  const value = fields.any('tool_choice');
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return readForcedTool(Fields.from(value, fields.at('tool_choice')), names, ignored);
  const mode = fields.requiredOneOf('tool_choice', ['auto', 'none', 'required']);
  if (takenCount > 0) return { mode, parallel: undefined };
  if (mode === 'required' && listedCount > 0) {
    throw unsupported(fields.at('tool_choice'), 'none of the tools can be called, since only their vendor runs them');
  }
  if (mode === 'required') return { mode, parallel: undefined };
  // Providers refuse a choice where there is nothing to choose from; clients send one all the same.
  ignored.add(fields.at('tool_choice'));
  return undefined;
}

function readForcedTool(choice: Fields, names: ToolNames, ignored: Ignored): ToolChoice {
  const type = choice.requiredString('type');
  if (type !== 'function' && type !== 'custom') throw unsupported(choice.at('type'), 'only a function or a custom tool can be chosen');
  const name = names.read(choice);
  ignored.addUnread(choice);
  return { mode: 'tool', name, parallel: undefined };
}
