import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sharedFolder } from './compile-cache.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Programs that tests start, by their built names. */
const PROGRAMS = { main: 'src/main.ts', 'crash-child': 'test/crash/child.ts', 'serve-child': 'test/e2e/serve-child.ts' } as const
/** Packages with non-JavaScript parts or their own files. */
const APART = ['better-sqlite3', 'pg-native', 'ssh2-sftp-client']

/** As deep as `src/config/sources`, which finds the presets. */
const FOLDER = 'dist/src/built'

/** The file of a program: in a run a bundle of all modules and packages, which starts in half of the time; otherwise the source. */
export function programPath(name: keyof typeof PROGRAMS): string {
  const folder = sharedFolder()
  return folder === undefined ? join(ROOT, PROGRAMS[name]) : join(folder, FOLDER, `${name}.js`)
}

export async function buildPrograms(): Promise<void> {
  const folder = sharedFolder() as string
  // Expected next to the program: presets, packages, and the built console.
  for (const name of ['config', 'node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name))
  mkdirSync(join(folder, 'dist'))
  symlinkSync(join(ROOT, 'dist/console'), join(folder, 'dist/console'))
  // Workers need only its path.
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

function threads(): Record<string, string> {
  const found = globSync(join(ROOT, 'src/**/*.ts')).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/'\.\/([\w-]+)\.js'/g)].map(([, name = '']) => join(dirname(file), `${name}.ts`)),
  )
  return Object.fromEntries(found.map((file) => [basename(file, '.ts'), file]))
}

function absolute(programs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, join(ROOT, file)]))
}
