import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { account, withFile } from './support.ts'

const YAML = 'database: { url: "postgres://mirror@db.test/mirror" }\npoll: { quiet: 20m, active: 60s }\nlog: { level: debug }\n'

it('a value of the settings file that a variable overrides is told, without the value, unless both say the same', () => {
  const variables = { ...account, DATABASE_URL: 'sqlite:/data/mirror.db', POLL_QUIET: '', POLL_ACTIVE: '1m', LOG_LEVEL: 'debug' }
  expect(loadConfig(withFile(YAML, variables)).overridden).toEqual([
    'database.url in CONFIG_FILE is overridden by DATABASE_URL; unset DATABASE_URL to use the file',
  ])
  expect(loadConfig(withFile(YAML, account)).overridden).toEqual([])
})
