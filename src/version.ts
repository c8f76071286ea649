/** The version: a constant, because a program bundled into one file has no package.json beside it. A test holds it equal to that. */
export const VERSION = '0.1.0';
