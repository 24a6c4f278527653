import { expect, test } from 'vitest'
import { sameSettings } from '../../src/config/same.ts'
import { Secret } from '../../src/config/secret.ts'
import { loadConfig } from '../../src/config.ts'
import { account, hook } from './support.ts'

test('settings are the same when their secrets are too', () => {
  const [one, again, other] = [loadConfig(account), loadConfig(account), loadConfig({ ...account, WEBHOOK_SECRETS: hook(2) })]
  expect(sameSettings(one, again)).toBe(true)
  expect(sameSettings(one, other)).toBe(false)
  expect(sameSettings([new Secret('a')], [new Secret('a')])).toBe(true)
  expect(sameSettings([new Secret('a')], [new Secret('b')])).toBe(false)
  expect(sameSettings(new Secret('a'), 'a')).toBe(false)
})
