/** The files of one reading of a configuration: each is read once, however many ask for it, since it may change meanwhile. */

/** Reads a file's text the first time, and adds it to `texts` by its path. */
export function readOnce(readFile: (path: string) => string, texts = new Map<string, string>()): (path: string) => string {
  return (path) => {
    const text = texts.get(path) ?? readFile(path);
    texts.set(path, text);
    return text;
  };
}
