/** One question to a running gateway, for health checks of containers that have neither a shell nor curl. */

import http from 'node:http';
import https from 'node:https';
import { isLoopback } from '../base/loopback.ts';
import { codeFrom } from '../upstream/transport-failure.ts';

/** An answer that takes longer is no sign of health: it is a few bytes that wait for nothing. */
const PROBE_MS = 5000;

/** Asks by GET, following no redirect. Undefined when the URL answers 200 in time, else a sentence on what it did instead. */
export function probe(text: string, timeoutMs = PROBE_MS): Promise<string | undefined> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return Promise.resolve('--probe needs an http or https URL, e.g. http://localhost:8080/healthz');
  // Without what may be a secret in it.
  const shown = url.origin + url.pathname;
  return new Promise((resolve) => {
    const request = (url.protocol === 'https:' ? https : http).get(url, {
      agent: false,
      // No certificate is for this machine's own address, and nothing is sent that could be kept from whoever answers there.
      rejectUnauthorized: !isLoopback(url.hostname),
    });
    const settle = (sentence: string | undefined): void => {
      clearTimeout(timer);
      resolve(sentence);
      request.destroy();
    };
    const timer = setTimeout(() => settle(`${shown} did not answer within ${timeoutMs} ms`), timeoutMs);
    request.on('response', ({ statusCode }) => settle(statusCode === 200 ? undefined : `${shown} answered ${statusCode}, expected 200`));
    request.on('error', (error) => settle(`${shown} could not be asked (${codeFrom(error) ?? 'no answer'})`));
  });
}
