/** A few cases of every fuzzer, always the same; `make fuzz` runs many more. */

import { test } from 'node:test';
import { createRandom } from '../base/random.ts';
import { FUZZERS } from './fuzzers.ts';
import { collectSeeds } from './seeds.ts';

const CASES = 150;
const seeds = await collectSeeds();

for (const [name, fuzz] of Object.entries(FUZZERS)) {
  test(`${CASES} cases of the fuzzer ${name} hold`, () => {
    for (let seed = 1; seed <= CASES; seed += 1) {
      try {
        fuzz(createRandom(seed), seeds);
      } catch (error) {
        throw new Error(`make fuzz ONLY=${name} SEED=${seed}: ${String(error)}`, { cause: error });
      }
    }
  });
}
