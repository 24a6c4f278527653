import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sharedFolder } from './compile-cache.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What tests start again and again, by the name that it has when it is built. */
const PROGRAMS = { main: 'src/main.ts', 'crash-child': 'test/crash/child.ts', 'serve-child': 'test/e2e/serve-child.ts' } as const
/** With parts that are no JavaScript, or that look for files of their own. */
const APART = ['better-sqlite3', 'pg-native', 'ssh2-sftp-client']

/** As deep as `src/config/sources`, from where the presets are looked for. */
const FOLDER = 'dist/src/built'

/**
 * The file to start for one of the programs: in a run of the tests all of its modules, and the packages that it uses, in a few files, for
 * then it starts in half of the time. Outside of a run the source itself.
 */
export function programPath(name: keyof typeof PROGRAMS): string {
  const folder = sharedFolder()
  return folder === undefined ? join(ROOT, PROGRAMS[name]) : join(folder, FOLDER, `${name}.js`)
}

/** Builds the programs in the folder of the run, before any test begins. */
export async function buildPrograms(): Promise<void> {
  const folder = sharedFolder() as string
  // Where the program looks for what lies beside it: its presets, packages, and the built console.
  for (const name of ['config', 'node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name))
  mkdirSync(join(folder, 'dist'))
  symlinkSync(join(ROOT, 'dist/console'), join(folder, 'dist/console'))
  // Not for the workers, which only want to know where it is.
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: { ...absolute(PROGRAMS), ...threads() },
    cwd: ROOT,
    platform: 'node',
    external: APART,
    logLevel: 'warn',
  })
  await bundle.write({ dir: join(folder, FOLDER), format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' })
  await bundle.close()
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
