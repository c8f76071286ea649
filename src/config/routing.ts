/** Routes and callers' rules from wherever they are written: the routing file, or the settings for simple cases. */

import { NO_ROUTING } from '../core/route.ts';
import type { Routing } from '../core/route.ts';
import type { RoutingFile } from './routing-file.ts';
import { checkRouting } from './routing-rules.ts';
import type { Surroundings } from './routing-rules.ts';
import { CALLER_LIMITS, complaintsOf, parseCallerLimits, parseRoutes, ROUTES } from './routing-variables.ts';
import { BOOLEAN } from './setting-types.ts';
import type { Source } from './source.ts';

/** The two settings, each as its entries. */
export type RoutingEntries = {
  readonly routes: readonly string[] | undefined;
  readonly callerLimits: readonly string[] | undefined;
};

/** The settings that the file stands in place of. */
const REPLACED = [['GATEWAY_ROUTES', ROUTES], ['GATEWAY_CALLER_LIMITS', CALLER_LIMITS], ['GATEWAY_MODEL_PREFIXES', BOOLEAN]] as const;

/** What both come to; whatever is wrong with them, by itself or together with the rest, is among the source's problems. */
export function routingFrom(
  source: Source,
  { routes = [], callerLimits = [] }: RoutingEntries,
  { routingFileName, routingFile }: { readonly routingFileName: string | undefined; readonly routingFile: RoutingFile | undefined },
  around: Surroundings,
): Routing {
  if (routingFileName === undefined) {
    const [routesName, limitsName] = [source.nameOf('GATEWAY_ROUTES'), source.nameOf('GATEWAY_CALLER_LIMITS')];
    const parsed = { routes: parseRoutes(source, routesName, routes), callers: parseCallerLimits(source, limitsName, callerLimits) };
    checkRouting(parsed, around, complaintsOf(source, routesName, limitsName));
    return { ...parsed, concurrentMax: NO_ROUTING.concurrentMax };
  }
  for (const [variable, type] of REPLACED) {
    if (source.isSet(variable, type)) source.problems.push(`${source.nameOf(variable)}: is set together with ${routingFileName}; keep one`);
  }
  if (routingFile === undefined) return NO_ROUTING;
  checkRouting(routingFile, around, routingFile.complaints);
  const bounded = [...routingFile.providers].flatMap(([name, { concurrentMax }]) => (concurrentMax === undefined ? [] : [[name, concurrentMax] as const]));
  return { routes: routingFile.routes, callers: routingFile.callers, concurrentMax: new Map(bounded) };
}
