import { existsSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { acquireServeLock } from '../../src/store/open/serve-lock.ts'
import { account } from '../config/support.ts'
import { newSqlite } from '../tools/databases.ts'
import { runHere } from './run.ts'

const SUBMISSION = 'aaaaaaaa-0000-4000-8000-00000000000a'

it.each([['status'], ['track', SUBMISSION], ['sync', SUBMISSION], ['migrate'], ['backup', '/tmp/none.db'], ['doctor']])(
  'where a running serve has lost its file no command makes another, nor advises to: %s',
  async (...args) => {
    const { config, remove } = newSqlite()
    onTestFinished(remove)
    const lock = await acquireServeLock(config)
    onTestFinished(() => lock.release())
    const { code, out, err } = await runHere(args, { ...account, DATABASE_URL: `sqlite:${config.path}` })
    const said = (out + err).split('\n').find((line) => line.includes('there is no database'))
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/though `serve` or `restore` is running on it; .* move it back, or copy it out/),
    ])
    expect(existsSync(config.path)).toBe(false)
  },
)
