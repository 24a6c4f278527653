import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** An earlier state of the program, as the repository has it. */
export interface OldRelease {
  readonly name: string
  readonly commit: string
}

/** The newest program of each schema that others may still run. */
export const oldReleases: readonly OldRelease[] = [
  { name: '0.1.0, schema version 1', commit: 'e723350' },
  { name: 'the one that brought pushing, schema version 3', commit: 'cc05669' },
]

/** Unpacks an earlier program beside nothing of today's but the libraries. @throws Error when the repository does not have it. */
export function unpack({ commit }: OldRelease): { readonly main: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-old-'))
  const archive = execFileSync('git', ['archive', commit, 'src', 'migrations', 'config', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 64 << 20,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return { main: join(folder, 'src/main.ts'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
