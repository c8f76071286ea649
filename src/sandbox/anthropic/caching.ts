/**
 * What a request to Anthropic wants cached: up to a mark on one of its blocks, or with one mark for all of it up to its end.
 *
 * Source: Anthropic, prompt caching (automatic caching, limits and order of breakpoints, the lookback of 20 blocks).
 */

import { field, isObject, listField, stringField } from '../../base/loose.ts';
import { prefixesOf } from '../cache.ts';
import type { Segment } from '../cache.ts';
import type { Ask, Complaint } from '../protocol.ts';
import { invalid } from './complaint.ts';

type Block = Readonly<Record<string, unknown>>;
/** What each part of a request costs. */
type Costs = {
  readonly ofTool: (tool: unknown) => number;
  readonly ofText: (block: unknown) => number;
  readonly ofBlock: (role: string, block: Block) => number;
};

const MARKS_MAX = 4;
const LOOKBACK_BLOCKS = 20;
const LONG = '1h';

/** Every part that can be marked, in the order in which they are cached. */
function partsOf(body: unknown): { readonly in: 'tools' | 'system' | 'messages'; readonly role: string; readonly place: string; readonly block: Block }[] {
  const listed = (value: unknown, name: 'tools' | 'system'): ReturnType<typeof partsOf> =>
    listField(value, name).filter(isObject).map((block, index) => ({ in: name, role: '', place: `${name}.${index}`, block }));
  const text = stringField(body, 'system');
  const system = text === undefined ? listed(body, 'system') : [{ in: 'system' as const, role: '', place: 'system', block: { type: 'text', text } }];
  const messages = listField(body, 'messages').flatMap((message, at) => {
    const said = stringField(message, 'content');
    const blocks = said === undefined ? listField(message, 'content').filter(isObject) : [{ type: 'text', text: said }];
    const role = stringField(message, 'role') ?? '';
    return blocks.map((block, index) => ({ in: 'messages' as const, role, place: `messages.${at}.content.${index}`, block }));
  });
  return [...listed(body, 'tools'), ...system, ...messages];
}

function markOf(block: unknown): unknown {
  return field(block, 'cache_control') ?? undefined;
}

/** There are four marks at most, and what stays for longer comes first. */
export function checkMarks(body: unknown): Complaint | undefined {
  const marked = partsOf(body).filter(({ block }) => markOf(block) !== undefined);
  const count = marked.length + (markOf(body) === undefined ? 0 : 1);
  if (count > MARKS_MAX) return invalid(`A maximum of ${MARKS_MAX} blocks with cache_control may be provided. Found ${count}.`);
  const marks = [...marked.map(({ place, block }) => ({ place: `${place}.`, mark: markOf(block) })), ...(count > marked.length ? [{ place: '', mark: markOf(body) }] : [])];
  const firstShort = marks.findIndex(({ mark }) => stringField(mark, 'ttl') !== LONG);
  const late = marks.find(({ mark }, index) => index > firstShort && firstShort !== -1 && stringField(mark, 'ttl') === LONG);
  if (late === undefined) return undefined;
  return invalid(`${late.place}cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`);
}

/** Nothing where no mark is. */
export function cachePlan(body: unknown, costs: Costs): Pick<Ask, 'cache' | 'isLongCached'> {
  const parts = partsOf(body);
  const isAutomatic = markOf(body) !== undefined;
  const segments = parts.map((part, index): Segment => {
    const { cache_control: mark, ...block } = part.block;
    const tokens = part.in === 'tools' ? costs.ofTool(block) : part.in === 'system' ? costs.ofText(block) : costs.ofBlock(part.role, block);
    return { value: [part.in, part.role, block], tokens, isMarked: (mark ?? undefined) !== undefined || (isAutomatic && index === parts.length - 1) };
  });
  const prefixes = prefixesOf(segments);
  const writes = prefixes.filter(({ isMarked }) => isMarked);
  if (writes.length === 0) return {};
  const reads = prefixes.filter((_, index) => prefixes.slice(index, index + LOOKBACK_BLOCKS).some(({ isMarked }) => isMarked));
  const lastMark = isAutomatic ? markOf(body) : markOf(parts.findLast(({ block }) => markOf(block) !== undefined)?.block);
  return { cache: { scope: `anthropic ${stringField(body, 'model')}`, reads, writes }, isLongCached: stringField(lastMark, 'ttl') === LONG };
}
