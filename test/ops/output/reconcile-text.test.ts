import { describe, expect, it } from 'vitest'
import { runSummary } from '../../../src/ops/output/reconcile-text.ts'
import { run } from '../../reconcile/report/sample.ts'

describe('the summary of a run', () => {
  it('counts remaining findings of earlier runs, one or several', () => {
    expect(runSummary(run())).not.toContain('since before')
    expect(runSummary(run({ known: 1 }))).toContain('\n1 known finding, listed but not counted\n')
    expect(runSummary(run({ known: 2 }))).toContain('\n2 known findings, listed but not counted\n')
  })
})
