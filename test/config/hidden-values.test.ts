import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { account, withFile } from './support.ts'

const YAML = 'database: { url: "postgres://mirror@db.test/mirror" }\npoll: { quiet: 20m, active: 60s }\nlog: { level: debug }\n'

it('a setting of the file that a variable overrides is reported, without the value, unless both are equal', () => {
  const variables = { ...account, DATABASE_URL: 'sqlite:/data/mirror.db', POLL_QUIET: '', POLL_ACTIVE: '1m', LOG_LEVEL: 'debug' }
  expect(loadConfig(withFile(YAML, variables)).overridden).toEqual([
    'database.url in CONFIG_FILE is overridden by DATABASE_URL; unset DATABASE_URL to use the file',
  ])
  expect(loadConfig(withFile(YAML, account)).overridden).toEqual([])
})
