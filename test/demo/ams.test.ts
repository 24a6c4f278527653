import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'svix'
import { afterAll, describe, expect, it } from 'vitest'
import { Ams, type Arrival } from '../../src/demo/ams.ts'
import { checkAms, isWhole } from '../../src/demo/ams-check.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-ams-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Accepted requests of one submission, in the order of `seqs`. */
function accepted(...seqs: number[]): Arrival[] {
  return seqs.map((seq) => ({ id: `id-${seq}`, seq, submissionId: 's', isAccepted: true }))
}

const logged = (...seqs: number[]) => seqs.map((seq) => ({ seq, submissionId: 's' }))

describe('the check of the AMS', () => {
  it('accepts changes that arrived at least once, under one id, in order within their submission', () => {
    const other: Arrival = { id: 'id-2', seq: 2, submissionId: 't', isAccepted: true }
    const verdict = checkAms([...logged(1, 3, 5), { seq: 2, submissionId: 't' }], [...accepted(1, 3, 3, 1, 5), other])
    expect(verdict).toMatchObject({ logged: 4, arrived: 4, missing: 0, disordered: 0, repeated: 2, otherIds: 0, refused: 0 })
    expect(isWhole(verdict)).toBe(true)
  })

  it('finds missing, refused and disordered changes', () => {
    const refused = accepted(3).map((arrival) => ({ ...arrival, isAccepted: false }))
    expect(checkAms(logged(1, 2, 3), [...accepted(1), ...refused])).toMatchObject({ missing: 2, refused: 1 })
    const late = checkAms(logged(1, 2, 3), accepted(1, 3, 2))
    expect(late).toMatchObject({ missing: 0, disordered: 1 })
    expect(isWhole(late)).toBe(false)
  })

  it('finds changes with two ids, and ids with two changes', () => {
    const renamed = accepted(1).map((arrival) => ({ ...arrival, id: 'another' }))
    expect(isWhole(checkAms(logged(1), [...accepted(1), ...renamed]))).toBe(false)
    const shared = accepted(1, 2).map((arrival) => ({ ...arrival, id: 'one' }))
    expect(isWhole(checkAms(logged(1, 2), shared))).toBe(false)
  })
})

it('the AMS accepts signed changes, refuses others, and provokes retries', async () => {
  const logFile = join(folder, 'ams.log')
  const ams = new Ams(logFile, Date.now)
  const url = await ams.listen()
  const post = async (n: number, secret = ams.secret, type = 'quotes.insert') => {
    const id = `message-${n}`
    const body = JSON.stringify({ type, data: { seq: n, submission_id: 's' } })
    const at = new Date()
    const signature = new Webhook(secret).sign(id, at, body)
    const headers = { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at.getTime() / 1000)), 'webhook-signature': signature }
    return await fetch(url, { method: 'POST', headers, body }).then(
      ({ status }) => status,
      () => 'hung up',
    )
  }
  const answers: (number | string)[] = []
  for (let n = 1; n <= 14; n += 1) answers.push(await post(n))
  expect(answers).toEqual([...Array<number>(8).fill(200), 503, ...Array<number>(4).fill(200), 'hung up'])
  expect([await post(9), await post(14)]).toEqual([200, 200])
  expect(await post(15, `whsec_${Buffer.alloc(32, 1).toString('base64')}`)).toBe(401)
  expect(await post(16, ams.secret, 'submission-mirror.test')).toBe(200)
  await ams.close()
  expect(ams.badSignatures).toBe(1)
  const everything = Array.from({ length: 14 }, (_, index) => ({ seq: index + 1, submissionId: 's' }))
  expect(checkAms(everything, ams.arrivals)).toMatchObject({ missing: 0, refused: 1, repeated: 1, disordered: 1 })
  expect(readFileSync(logFile, 'utf8').split('\n')).toHaveLength(19)
})
