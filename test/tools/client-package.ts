/**
 * Creates a package of the client from a folder compiled with `tsc -p src/client`: adds package.json, README and license. Run it in the
 * project's root:
 * node test/tools/client-package.ts FOLDER
 */
import { copyFile, glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Program {
  readonly version: string
  readonly license: string
  readonly publishConfig: object
  readonly dependencies: Readonly<Record<string, string>>
}

const NAME = 'submission-mirror-client'

async function main([folder]: string[]): Promise<void> {
  if (folder === undefined) throw new Error('name the folder of the compiled client')
  const program = JSON.parse(await readFile('package.json', 'utf8')) as Program
  const dependencies = await dependenciesOf(folder, program)
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest(program, dependencies), null, 2)}\n`)
  await writeFile(join(folder, 'README.md'), readmeOf(await readFile('src/client/README.md', 'utf8')))
  await copyFile('LICENSE', join(folder, 'LICENSE'))
}

function manifest({ version, license, publishConfig }: Program, dependencies: Readonly<Record<string, string>>): object {
  return {
    name: NAME,
    version,
    description: 'A typed client of the submission service: every call of its specification.',
    license,
    type: 'module',
    sideEffects: false,
    exports: {
      '.': { types: './client/exports.d.ts', default: './client/exports.js' },
      './package.json': './package.json',
    },
    publishConfig,
    engines: { node: '>=22' },
    dependencies,
  }
}

/** @returns packages imported by the compiled files, at least in the program's versions, to share a reader's own. */
async function dependenciesOf(folder: string, { dependencies }: Program): Promise<Record<string, string>> {
  const names = new Set<string>()
  for await (const file of glob('**/*.js', { cwd: folder })) {
    const text = await readFile(join(folder, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/^(?:import|export) .*?from '([^.'][^']*)'/gm)) names.add(name)
  }
  return Object.fromEntries(Array.from(names, (name) => [name, versionOf(name, dependencies)]))
}

function versionOf(name: string, versions: Readonly<Record<string, string>>): string {
  const version = versions[name]
  if (version === undefined) throw new Error(`the client imports ${name}, which is no dependency`)
  return `^${version}`
}

function readmeOf(text: string): string {
  const [readme = ''] = text.replaceAll("'submission-mirror/client'", `'${NAME}'`).split('\n## In this project\n')
  const link = /\]\((?!https:|#)[^)]*\)/.exec(readme)
  if (link !== null) throw new Error(`src/client/README.md: ${link[0]} leads out of the package; it belongs into "In this project"`)
  return readme
}

await main(process.argv.slice(2))
