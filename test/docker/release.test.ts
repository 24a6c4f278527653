import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { newFolder } from '../tools/new-folder.ts'

const run = promisify(execFile)
const script = join(import.meta.dirname, '../tools/release.ts')

/** Makes a release in another time zone and with another umask. @returns the folder and the output. */
async function released(parent: string, name: string, umask: string, zone: string) {
  const folder = join(parent, name)
  const command = `umask ${umask}; exec "$@"`
  const args = ['-c', command, 'sh', process.execPath, script, folder, '--rehearsal']
  const { stdout } = await run('sh', args, { env: { ...process.env, TZ: zone }, maxBuffer: 64 << 20 })
  return { folder, stdout }
}

it('a repeated release has the same bytes, lists what it lacks, and includes correct checksums', {
  timeout: 1_800_000,
}, async () => {
  const parent = newFolder()
  const one = await released(parent, 'one', '022', 'UTC')
  const other = await released(parent, 'other', '077', 'Asia/Tokyo')
  const names = await readdir(one.folder)
  expect(names).toHaveLength(9)
  const sums = await readFile(join(one.folder, 'SHA256SUMS'), 'utf8')
  expect(await readFile(join(other.folder, 'SHA256SUMS'), 'utf8')).toBe(sums)
  for (const { folder } of [one, other]) {
    const { stdout } = await run('sha256sum', ['-c', 'SHA256SUMS'], { cwd: folder })
    expect(stdout.trim().split('\n').toSorted()).toEqual(
      names
        .filter((name) => name !== 'SHA256SUMS')
        .map((name) => `${name}: OK`)
        .toSorted(),
    )
  }
  expect(one.stdout).toMatch(/^not built here: the image itself, .* Not signed: sign SHA256SUMS$/m)
})
