/** The version that still takes sampling parameters where the model does. */
export const VERSION_HEADER = { 'anthropic-version': '2023-06-01' };
