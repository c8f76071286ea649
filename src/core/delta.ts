/** What a streamed answer is told in. */

import type { ChatReply, ToolCallPart } from './chat.ts';
import type { Failure } from './failure.ts';

/** One step of a streamed answer. A stream has exactly one `done` or `failed`, last. */
export type Delta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool_call'; readonly call: ToolCallPart }
  | { readonly type: 'done'; readonly reply: ChatReply }
  | { readonly type: 'failed'; readonly failure: Failure };
