/** True for a name that every provider takes for a schema (OpenAI, structured outputs). */
export function isSchemaName(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text);
}
