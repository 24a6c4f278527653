import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../app/run.ts'
import { account } from '../config/support.ts'

it('track says when no ids were given, and when the file has none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  expect(await runHere(['track'], env)).toEqual({ code: 2, out: '', err: 'track: give ids of submissions, or a --file of them\n' })
  for (const text of ['', '# none today\n', 'submission_id,name\n']) {
    const file = join(folder, 'ids.csv')
    writeFileSync(file, text)
    expect(await runHere(['track', '--file', file], env)).toEqual({ code: 2, out: '', err: `track: ${file} has no ids in it\n` })
  }
})
