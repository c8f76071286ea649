/** What a test writes for a model to answer. Types alone, which ask for no others to be installed. */

/** What a model answers; a string is its text. */
export type ScriptedReply =
  | string
  | {
      readonly text?: string | undefined;
      /** Reasoning before the text, shown where and when the vendor shows it. */
      readonly thinking?: string | undefined;
      readonly tool_calls?: readonly { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined }[] | undefined;
      /** Fails with this status instead, 400 to 599, in the vendor's own words. */
      readonly status?: number | undefined;
      /** Fails in this way: a name of `FAULTS` without its `fake-`, a number in the place of its N. */
      readonly fault?: string | undefined;
    };

/** Asked anew for each request; undefined leaves the answer to the fake model. */
export type ReplyFunction<Request> = (request: Request) => ScriptedReply | undefined | Promise<ScriptedReply | undefined>;
