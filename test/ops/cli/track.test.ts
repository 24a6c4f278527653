import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../app/run.ts'
import { account } from '../../config/support.ts'

it('track says when no ids were given, and when the file has none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  expect(await runHere(['track'], env)).toEqual({ code: 2, out: '', err: 'track: give submission ids, or a file that lists them\n' })
  for (const text of ['', '# none today\n', 'submission_id,name\n']) {
    const file = join(folder, 'ids.csv')
    writeFileSync(file, text)
    expect(await runHere(['track', '--file', file], env)).toEqual({ code: 2, out: '', err: '--file: it contains no ids\n' })
  }
})

it('track says where it made a database, since `serve` may have another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mirror.db')
  const env = { ...account, DATABASE_URL: `sqlite:${relative('', file)}` }
  const track = () => runHere(['track', 'aaaaaaaa-0000-4000-8000-00000000000a'], env)
  expect((await runHere(['status'], env)).err).toMatch(`there is no database at ${file}; `)
  expect(await track()).toMatchObject({
    code: 0,
    err: `created a new database at ${file}; to use another one, set DATABASE_URL\n`,
  })
  expect(await track()).toMatchObject({ code: 0, err: '' })
})

it('track refuses a file that is not UTF-8 in one line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  const file = join(folder, 'ids.csv')
  const text = 'submission_id,name\naaaaaaaa-0000-4000-8000-00000000000a,M\u00fcller\n'
  for (const bytes of [Buffer.from(text, 'latin1'), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
    writeFileSync(file, bytes)
    expect(await runHere(['track', '--file', file], env)).toEqual({
      code: 2,
      out: '',
      err: `--file: ${file} is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")\n`,
    })
  }
})

it('track reports the first lines of a file in which every line is wrong, however long the file is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  const file = join(folder, 'ids.txt')
  writeFileSync(file, 'SUB-1\n'.repeat(200_000))
  const { code, err } = await runHere(['track', '--file', file, '--account', 'other'], env)
  const lines = err.trimEnd().split('\n')
  expect({ code, lines: lines.length }).toEqual({ code: 2, lines: 52 })
  expect(lines[0]).toBe('--file: line 1: "SUB-1" is not a submission id (a uuid)')
  expect(lines.slice(50)).toEqual(['--file: and 199950 more', '--account: the settings have no account "other"; known: default'])
  const nowhere = join(folder, 'nowhere.txt')
  expect((await runHere(['track', '--file', nowhere], env)).err).toMatch(/^--file: .*nowhere\.txt cannot be read: ENOENT/)
})

it('trap 23, trap 78: track adds bind requests, policies and insureds, and only uuids', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-track-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...account, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  const [submission, bind, policy] = ['a', 'b', 'c'].map((digit) => `aaaaaaaa-0000-4000-8000-00000000000${digit}`) as [
    string,
    string,
    string,
  ]
  expect(await runHere(['track', '--bind-request', bind], env)).toMatchObject({
    code: 2,
    err: 'track: give bind requests together with their submission\n',
  })
  expect(await runHere(['track', '--policy', '../me'], env)).toMatchObject({
    code: 2,
    err: '--policy: "../me" is not a valid policy id (a uuid)\n',
  })
  expect((await runHere(['track', submission, '--bind-request', bind.toUpperCase()], env)).out).toBe(
    '1 new submission tracked in account default; 0 already tracked\n1 new id tracked in account default; 0 already tracked\n',
  )
  expect((await runHere(['track', '--policy', policy], env)).out).toBe('1 new id tracked in account default; 0 already tracked\n')
  expect((await runHere(['track', '--policy', policy], env)).out).toBe('0 new ids tracked in account default; 1 already tracked\n')
})
