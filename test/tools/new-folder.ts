import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
