import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../app/run.ts'
import { uuid } from '../../tools/observations.ts'
import { writeSettings } from '../../tools/settings-file.ts'

it('destination map asks for the account where the destination has several, and loses no field', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-map-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const account = (name: string, n: number) => ({
    name,
    base_url: 'https://service.example/api/v1',
    client_credentials: [{ id: 'bac_1', secret: 'bas_1' }],
    webhook_secrets: [`whsec_${Buffer.alloc(32, n).toString('base64')}`],
  })
  const target = { type: 'folder', path: folder }
  const tm = { name: 'tm', kind: 'file', mapping: 'required', accounts: ['a', 'b'], target }
  const file = join(folder, 'mirror.yaml')
  writeSettings(file, { accounts: [account('a', 1), account('b', 2)], destinations: [tm] })
  const env = { CONFIG_FILE: file, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}` }
  expect(await runHere(['migrate'], env)).toMatchObject({ code: 0 })
  const map = (...more: string[]) => runHere(['destination', 'map', 'tm', '--submission', uuid(9, 1), '--client', 'C-1', ...more], env)
  expect(await map()).toEqual({ code: 2, out: '', err: 'the account is missing; tm has a, b\nnothing was stored\n' })
  expect(await map('--account', 'c')).toEqual({ code: 2, out: '', err: 'unknown account "c"; known: a, b\n' })
  const own = '"policy" is not allowed as a name in fields\nnothing was stored\n'
  expect(await map('--account', 'b', '--field', 'policy=P-1')).toEqual({ code: 2, out: '', err: own })
  const unnamed = '--field: is not a list of names and values\n'
  expect(await map('--account', 'b', '--field', 'north')).toEqual({ code: 2, out: '', err: unnamed })
  expect(await map('--account', 'b')).toMatchObject({ code: 0, err: '' })
  const { out, code } = await map('--account', 'a', '--json')
  expect({ code, result: JSON.parse(out) as unknown }).toEqual({ code: 0, result: { stored: 1, unknown_submissions: 1 } })
})
