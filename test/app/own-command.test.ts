import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { compiledEnv } from '../tools/compile-cache.ts'
import { programPath } from '../tools/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bin = join(folder, 'node_modules/.bin')
const link = join(bin, 'submission-mirror')
mkdirSync(bin, { recursive: true })
symlinkSync(programPath('main'), link)

const PATH = process.env['PATH'] ?? ''

it.each([
  { where: 'in a clone', cwd: ROOT, script: 'src/main.ts', printed: 'npx node src/main.ts' },
  { where: 'in a project that installed it', cwd: folder, script: link, printed: 'npx submission-mirror' },
  { where: 'installed for all, on the path', cwd: tmpdir(), script: link, env: { PATH: `${PATH}:${bin}` }, printed: 'submission-mirror' },
  { where: 'installed elsewhere', cwd: tmpdir(), script: link, printed: link },
  {
    where: 'by the path of its file',
    cwd: '/',
    script: programPath('main'),
    printed: `${process.execPath} ${programPath('main').slice(1)}`,
  },
  {
    where: 'in a container',
    cwd: folder,
    script: link,
    env: { SUBMISSION_MIRROR_COMMAND: 'docker compose exec mirror submission-mirror' },
    printed: 'docker compose exec mirror submission-mirror',
  },
])('prints commands as they are typed $where', async ({ cwd, script, env, printed }) => {
  const options = { cwd, env: { PATH, ...compiledEnv(), DATABASE_URL: `sqlite:${folder}/none.db`, ...env } }
  const failed = await promisify(execFile)(process.execPath, [script, 'status'], options).catch((error: { stderr: string }) => error)
  expect(failed.stderr).toContain(`create it with \`${printed} serve\``)
})
