import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { account, problemsOf, REFUSED_PATHS, withAccount } from './support.ts'

const withReads = (reads: string) => withAccount(`extra_reads: ${reads}`)

describe('extra reads', () => {
  test('there are none unless the file names some, each under its name', () => {
    expect(loadConfig(account).accounts[0]?.extraReads).toEqual([])
    const more = '{ name: m, path: "/x?y=1", every: 1h }'
    const config = loadConfig(withReads(`[{ name: detail, path: "/broker/submissions/{submission_id}" }, ${more}]`))
    expect(config.accounts[0]?.extraReads).toEqual([
      { name: 'detail', path: '/broker/submissions/{submission_id}', everyMs: 86_400_000 },
      { name: 'm', path: '/x?y=1', everyMs: 3_600_000 },
    ])
    expect(problemsOf(withReads('[{ name: m, path: /x }, { name: m, path: /y }]'))).toHaveLength(1)
    expect(problemsOf(withReads('[{ name: m, path: /x, every: 1s }]'))).toEqual([
      expect.stringContaining('must be a duration from 1m to 30d'),
    ])
  })

  test('trap 45, trap 55, trap 76: none leaves the base, exchanges secrets or is counted against a daily limit', () => {
    for (const path of [...REFUSED_PATHS, '/broker/insureds/{insured_id}', '/broker/x?to={submission_id}'])
      expect(problemsOf(withReads(`[{ name: m, path: ${JSON.stringify(path)} }]`)), path).toEqual([
        expect.stringMatching(/^accounts\[0\]\.extra_reads\[0\]\.path in CONFIG_FILE must (?:not |be a path)/),
      ])
  })
})
