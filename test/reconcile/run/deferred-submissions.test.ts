import { expect, it } from 'vitest'
import { DeferredSubmissions } from '../../../src/reconcile/run/queue.ts'
import type { Candidate } from '../../../src/store/reconcile/queue.ts'

it('at the limit, the submission with the oldest visit is next', async () => {
  const tried = new DeferredSubmissions(async (submissionId) => (submissionId === '7' ? [] : [{ submissionId } as Candidate]))
  const at = (n: number) => `2026-03-05T03:00:00.${String(n).padStart(6, '0')}Z`
  const idsOf = async (candidates: AsyncIterable<Candidate>) => {
    const ids: number[] = []
    for await (const { submissionId } of candidates) ids.push(Number(submissionId))
    return ids
  }
  const early: number[] = []
  for (let n = 20_009; n >= 0; n--) early.push(...(await idsOf(tried.add({ submissionId: `${n}` } as Candidate, at(n)))))
  // Each of the last ten has the oldest visit; one is unknown now.
  expect(early).toEqual([9, 8, 6, 5, 4, 3, 2, 1, 0])
  expect(await idsOf(tried.until(at(13)))).toEqual([10, 11, 12])
  expect((await idsOf(tried.until(null))).slice(0, 2)).toEqual([13, 14])
  expect(await idsOf(tried.until(null))).toEqual([])
})
