import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { account, problemsOf } from './support.ts'

describe('configured state reads', () => {
  const all = ['requirements', 'outstanding', 'workspace', 'sessions', 'bind_request', 'policy', 'insured', 'document']

  test('are all of them, or those that are listed and the requirements view', () => {
    expect(loadConfig(account).stateReads).toEqual(all)
    expect(loadConfig({ ...account, STATE_READS: 'workspace, policy policy' }).stateReads).toEqual(['requirements', 'workspace', 'policy'])
    expect(loadConfig({ ...account, STATE_READS: 'requirements' }).stateReads).toEqual(['requirements'])
  })

  test('have known names', () => {
    expect(problemsOf({ ...account, STATE_READS: 'workspace,quotes' })).toEqual([`STATE_READS (number 2) must be one of ${all.join(', ')}`])
  })
})
