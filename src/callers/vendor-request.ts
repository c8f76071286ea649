/** A request in the format of another vendor, as far as all of them are read alike: before anybody knows who will serve it. */

import { Fields } from '../base/fields.ts';
import type { JsonObject } from '../base/json/value.ts';
import type { DecodedRequest, RequestBody, Translation } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { headOf, loopOwnerOf } from './affinity.ts';
import { caught, parseBody } from './body.ts';
import { readModel } from './model.ts';

type Translate = (fields: Fields, source: JsonObject, model: string) => Translation | Failure;

/** Decodes one body. Failures: bad_request, and unsupported once it is translated. Never throws, whatever the bytes. */
// hot: per request
export function decodeVendorRequest(body: RequestBody, translate: Translate, wantsUsage = (_fields: Fields): boolean => true): DecodedRequest | Failure {
  const source = parseBody(body);
  if (source instanceof Failure) return source;
  return caught(() => {
    const fields = new Fields(source, undefined);
    return {
      provider: undefined,
      model: readModel(fields),
      isStream: fields.boolean('stream') ?? false,
      wantsUsage: wantsUsage(fields),
      source,
      providerOptions: undefined,
      translate: (model) => caught(() => translate(fields, source, model)),
      head: () => headOf(source),
      loopOwner: () => loopOwnerOf(source),
    };
  });
}
