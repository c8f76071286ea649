/**
 * `make release`: the package, its bill of materials (CycloneDX) and the hashes of both, the same bytes wherever they are made.
 * No time, no path and no random number is in them.
 *
 * What is packed is bundled and minified by esbuild, which comes with tsx, to two thirds of the size. Who wants to run what can be
 * read runs `src`, or compares the hash of a release with that of an own one.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/**
 * What is downloaded for a program that does little but pass on JSON. A fifth of it is the sandbox, another fifth routes, limits,
 * workers and clouds.
 */
export const PACKAGE_BYTES_MAX = 260_000;

type Manifest = { readonly name: string; readonly version: string; readonly license: string; readonly description: string };

/** What the package is made of: itself. `tarball` is its content. */
export function renderBillOfMaterials({ name, version, license, description }: Manifest, tarball: Buffer): string {
  const reference = `pkg:npm/${name}@${version}`;
  const component = {
    'bom-ref': reference,
    type: 'application',
    name,
    version,
    description,
    hashes: [{ alg: 'SHA-256', content: sha256(tarball) }],
    licenses: [{ license: { id: license } }],
    purl: reference,
  };
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component },
    components: [],
    dependencies: [{ ref: reference, dependsOn: [] }],
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function run(command: string, ...words: readonly string[]): void {
  execFileSync(command, words, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}

function release(folder: string): void {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  run('npm', 'run', '--silent', 'prepare');
  // Modes are packed, too, and those of a fresh clone are its owner's habit.
  run('chmod', '-R', 'u=rwX,go=rX', 'dist', 'package.json', 'README.md', 'LICENSE');
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder);
  const file = `${manifest.name}-${manifest.version}.tgz`;
  const tarball = readFileSync(join(folder, file));
  const bill = renderBillOfMaterials(manifest, tarball);
  const billFile = `${manifest.name}-${manifest.version}.cdx.json`;
  writeFileSync(join(folder, billFile), bill);
  writeFileSync(join(folder, 'SHA256SUMS'), `${sha256(tarball)}  ${file}\n${sha256(bill)}  ${billFile}\n`);
  process.stdout.write(`${readFileSync(join(folder, 'SHA256SUMS'), 'utf8')}${tarball.length} bytes in ${folder}\n`);
  if (tarball.length > PACKAGE_BYTES_MAX) {
    process.stderr.write(`the package has more than ${PACKAGE_BYTES_MAX} bytes\n`);
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) release(join(ROOT, 'release'));
