import { expect, it } from 'vitest'
import { withColors } from '../../../src/ops/cli/color.ts'
import { runHere } from '../../app/run.ts'

function painted(text: string | Uint8Array, hasColors = true): unknown {
  let written: unknown
  withColors({ isTTY: true, hasColors, write: (piece) => (written = piece) }).write(text)
  return written
}

it('colors marks at the beginning of a line and states in cells of tables', () => {
  expect(painted('✓ database: fine\n✗ account x: it is suspended\n– not checked')).toBe(
    '\u001b[32m✓\u001b[39m database: fine\n\u001b[31m✗\u001b[39m account x: it is suspended\n\u001b[90m–\u001b[39m not checked',
  )
  expect(painted('acme  active    3\nbeta  not started\n')).toBe(
    'acme  \u001b[32mactive\u001b[39m    3\nbeta  \u001b[33mnot started\u001b[39m\n',
  )
})

it('leaves sentences, JSON and bytes as they are', () => {
  for (const text of ['it is dead; done\n', '{\n  "state": "dead"\n}\n', 'dead,active\n', Buffer.from('dead')])
    expect(painted(text)).toBe(text)
})

it('colors nothing where no colors are shown', () => {
  expect(painted('✓ fine\n', false)).toBe('✓ fine\n')
})

it('is used in the output of a command', async () => {
  const env = {
    DATABASE_URL: 'sqlite:/nowhere/mirror.db',
    BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
    BROKER_API_CLIENT_ID: 'bac_test',
  }
  const settings = { ...env, BROKER_API_CLIENT_SECRET: 'bas_test', WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
  expect((await runHere(['doctor'], settings, { hasColors: true })).out).toContain('\u001b[31m✗\u001b[39m ')
  expect((await runHere(['doctor'], settings)).out).not.toContain('\u001b')
})
