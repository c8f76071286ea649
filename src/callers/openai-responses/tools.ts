/** The tools of a Responses request (OpenAI, Responses API, tools) and how the model may choose among them. */

import { Fields } from '../../base/fields.ts';
import type { Path } from '../../base/fields.ts';
import type { Tool, ToolChoice } from '../../core/chat.ts';
import { unsupported } from '../body.ts';
import type { Ignored } from '../field-table.ts';
import type { Places } from '../places.ts';
import { ownName } from '../tool-name.ts';
import type { FunctionNames } from './namespaces.ts';

/** Tools that only OpenAI runs, or that only its models can call. Codex names one of them in every request. */
const VENDOR_TOOLS: ReadonlySet<string> = new Set([
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use',
  'custom',
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
type Draft = { readonly tools: Tool[]; readonly shown: Set<string>; readonly names: FunctionNames; readonly ignored: Ignored; readonly places: Places };

export function readTools(fields: Fields, names: FunctionNames, ignored: Ignored, places: Places): Tools {
  const tools: Tool[] = [];
  const draft: Draft = { tools, shown: new Set(), names, ignored, places };
  const listed = fields.list('tools', (item, path) => {
    const tool = Fields.from(item, path);
    if (tool.any('type') === 'namespace') readNamespace(tool, path, draft);
    else addTool(tool, path, (name) => name, draft);
  });
  return { tools, toolChoice: readToolChoice(fields, names, listed?.length ?? 0, tools.length, ignored) };
}

/** Adds the functions of a namespace, without what it says of all of them; one without any is left out. */
function readNamespace(fields: Fields, path: Path, draft: Draft): void {
  const { names, ignored } = draft;
  const namespace = fields.requiredText('name');
  if (fields.string('description')) ignored.addOnce(fields, ['description']);
  const inner = fields.list('tools', (item, innerPath) => addTool(Fields.from(item, innerPath), innerPath, (name) => names.nameOf({ namespace, name }), draft));
  if (inner === undefined || inner.length === 0) ignored.add(path);
  else ignored.addUnreadOfItem(fields);
}

/** Adds a function, under the name that it is shown by; any other tool is left out. */
function addTool(fields: Fields, path: Path, shownAs: (name: string) => string, { tools, shown, ignored, places }: Draft): void {
  const type = fields.requiredString('type');
  if (type !== 'function') {
    if (!VENDOR_TOOLS.has(type.replace(VERSION, ''))) throw unsupported(fields.at('type'), 'only tools of type function are supported');
    ignored.add(path);
    return;
  }
  const tool: Tool = {
    name: ownName(shownAs(fields.requiredText('name')), fields, shown),
    description: fields.string('description') || undefined,
    parameters: fields.opaqueObject('parameters')?.raw,
    strict: fields.boolean('strict'),
  };
  tools.push(places.put(tool, path));
  ignored.addUnreadOfItem(fields);
}

/** `listedCount` = all tools of the request, `takenCount` = those of them that are passed on. */
function readToolChoice(fields: Fields, names: FunctionNames, listedCount: number, takenCount: number, ignored: Ignored): ToolChoice | undefined {
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

function readForcedTool(choice: Fields, names: FunctionNames, ignored: Ignored): ToolChoice {
  if (choice.requiredString('type') !== 'function') throw unsupported(choice.at('type'), 'only a function can be chosen');
  const name = names.read(choice);
  ignored.addUnread(choice);
  return { mode: 'tool', name, parallel: undefined };
}
