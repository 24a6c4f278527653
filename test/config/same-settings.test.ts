import { expect, test } from 'vitest'
import { Secret } from '../../src/base/secret.ts'
import { loadConfig } from '../../src/config/config.ts'
import { sameSettings } from '../../src/config/same-settings.ts'
import { account, hook } from './support.ts'

test('settings are the same when their secrets are too', () => {
  const [one, again, other] = [loadConfig(account), loadConfig(account), loadConfig({ ...account, WEBHOOK_SECRETS: hook(2) })]
  expect(sameSettings(one, again)).toBe(true)
  expect(sameSettings(one, other)).toBe(false)
  expect(sameSettings([new Secret('a')], [new Secret('a')])).toBe(true)
  expect(sameSettings([new Secret('a')], [new Secret('b')])).toBe(false)
  expect(sameSettings(new Secret('a'), 'a')).toBe(false)
})
