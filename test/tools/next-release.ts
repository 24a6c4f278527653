import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { STEPS } from '../../src/store/migrate/migrate.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Schema changes of the next release, which only expand: a busy table, an index on it, and a new table. */
const MIGRATION = `import type { Migration } from '../src/store/schema/migration.ts'

export const rehearsed: Migration = {
  version: ${STEPS + 1},
  name: 'rehearsed',
  oldestCompatible: ${STEPS},
  statements: (t) => [
    'alter table market_events add column rehearsed text',
    'create index market_events_rehearsed on market_events (account, rehearsed)',
    \`create table sync_rehearsed (id \${t.id} not null primary key)\`,
  ],
}
`

/** A following release with another schema step. */
export interface NextRelease {
  readonly version: string
  readonly main: string
  remove(): void
}

export function makeNextRelease(): NextRelease {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-next-'))
  for (const name of ['src', 'migrations', 'package.json']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  for (const name of ['node_modules', 'config', 'dist']) symlinkSync(join(ROOT, name), join(folder, name))
  const version = nextPatch(change(join(folder, 'package.json'), /"version": "([^"]*)"/, (said) => `"version": "${nextPatch(said)}"`))
  writeFileSync(join(folder, `migrations/${String(STEPS + 1).padStart(4, '0')}-rehearsed.ts`), MIGRATION)
  const index = join(folder, 'migrations/index.ts')
  change(
    index,
    /^(import type .*)$/m,
    (line) => `${line}\nimport { rehearsed } from './${String(STEPS + 1).padStart(4, '0')}-rehearsed.ts'`,
  )
  change(index, /(statusViews)\]/, (last) => `${last}, rehearsed]`)
  return { version, main: join(folder, 'src/main.ts'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** @returns the pattern's group. @throws Error if the file lacks it. */
function change(file: string, pattern: RegExp, to: (group: string) => string): string {
  const text = readFileSync(file, 'utf8')
  const group = pattern.exec(text)?.[1]
  if (group === undefined) throw new Error(`${file} has nothing like ${pattern}`)
  writeFileSync(file, text.replace(pattern, to(group)))
  return group
}

function nextPatch(version: string): string {
  return version.replace(/\d+$/, (patch) => String(Number(patch) + 1))
}
