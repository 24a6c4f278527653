import { globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sharedFolder } from './compile-cache.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What tests start again and again, by the name that it has when it is built. */
const PROGRAMS = { main: 'src/main.ts', 'crash-child': 'test/crash/child.ts', 'serve-child': 'test/e2e/serve-child.ts' } as const
/** With parts that are no JavaScript, or that look for files of their own. */
const APART = ['better-sqlite3', 'pg-native', 'ssh2-sftp-client']

/** As deep as `src/config/sources`, from where the presets are looked for. */
const FOLDER = 'dist/src/built'

let built: Promise<string> | undefined

/**
 * The file to start for one of the programs: in a run of the tests all of its modules, and the packages that it uses, in a few files, for
 * then it starts in half of the time. Outside of a run the source itself.
 */
export async function programPath(name: keyof typeof PROGRAMS): Promise<string> {
  const folder = sharedFolder()
  if (folder === undefined) return join(ROOT, PROGRAMS[name])
  built ??= buildIn(folder)
  return join(await built, `${name}.js`)
}

/** @returns the folder of the built files, which the first of the workers that came to an end has made. */
async function buildIn(folder: string): Promise<string> {
  // Where the program looks for what lies beside it: its presets, packages, and the built console.
  const own = mkdtempSync(join(folder, 'program-'))
  for (const name of ['config', 'node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(own, name))
  mkdirSync(join(own, 'dist'))
  symlinkSync(join(ROOT, 'dist/console'), join(own, 'dist/console'))
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: { ...absolute(PROGRAMS), ...threads() },
    cwd: ROOT,
    platform: 'node',
    external: APART,
    logLevel: 'warn',
  })
  await bundle.write({ dir: join(own, FOLDER), format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' })
  await bundle.close()
  const shared = join(folder, 'program')
  try {
    renameSync(own, shared)
  } catch (error) {
    // Another worker was first; what it made is the same.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  return join(shared, FOLDER)
}

/** The files that the sources start as threads, by a name beside their own. */
function threads(): Record<string, string> {
  const found = globSync(join(ROOT, 'src/**/*.ts')).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/'\.\/([\w-]+)\.js'/g)].map(([, name = '']) => join(dirname(file), `${name}.ts`)),
  )
  return Object.fromEntries(found.map((file) => [basename(file, '.ts'), file]))
}

function absolute(programs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, join(ROOT, file)]))
}
