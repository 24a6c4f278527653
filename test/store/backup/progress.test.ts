import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { progressAt, watchBackup } from '../../../src/store/backup/progress.ts'

it.each([
  ['copying', 0, 0, { percent: 0, secondsLeft: null }],
  ['copying', 0.5, 15_000, { percent: 15, secondsLeft: 85 }],
  ['compacting', 0.5, 50_000, { percent: 50, secondsLeft: 50 }],
  // A compacted copy may be larger than the database was when the backup began.
  ['compacting', 1.2, 70_000, { percent: 70, secondsLeft: 31 }],
  ['verifying', 0, 70_000, { percent: 70, secondsLeft: 31 }],
] as const)('a backup that is %s, %d of the step done after %d ms', (step, done, elapsedMs, progress) => {
  expect(progressAt(step, done, elapsedMs)).toEqual({ step, ...progress })
})

it.each([
  ['that cannot be synced', '/dev/null'],
  ['that does not exist yet', '/dev/null/a.db'],
])('a file %s counts as empty, and stops nothing', async (_, file) => {
  const reported = await new Promise((resolve) => {
    const end = watchBackup({ files: { copying: file }, bytes: 1_000, step: () => 'copying', onProgress: resolve })
    onTestFinished(end)
  })
  expect(reported).toMatchObject({ step: 'copying', percent: 0 })
})

it('progress follows the size of the file that the step writes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-progress-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'a.db')
  writeFileSync(file, Buffer.alloc(500))
  const reported = await new Promise((resolve) => {
    const end = watchBackup({ files: { copying: file }, bytes: 1_000, step: () => 'copying', onProgress: resolve })
    onTestFinished(end)
  })
  expect(reported).toMatchObject({ step: 'copying', percent: 15 })
})
