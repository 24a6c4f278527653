import { describe, expect, it } from 'vitest'
import { readState } from '../../src/read/state.ts'
import { upstreamClass } from '../../src/upstream/http/errors.ts'
import { uuid, wireLane, wireRequirements } from '../tools/observations.ts'
import { clientOf, json, startService, thrownBy, withTokens } from '../upstream/service.ts'

const SUBMISSION = uuid(9, 1)
const never = new AbortController().signal

async function read(answer: unknown) {
  const service = await startService(withTokens((_request, response) => json(response, answer)))
  return readState(clientOf(service), 'requirements', SUBMISSION, never)
}

describe('reading the requirements view', () => {
  it('trap 11: gives the state of the submission and of its lanes', async () => {
    const view = await read(wireRequirements(SUBMISSION, [wireLane(1)]))
    expect(view.submission).toMatchObject({ insured_name: 'Harbour Bakery LLC', state: 'TX', marketing_status: 'matched' })
    expect(view.lists.find(({ table }) => table === 'lanes')?.rows.map((lane) => lane['lane_id'])).toEqual([uuid(3, 1)])
  })

  it.each([{ detail: 'soon' }, {}, { submission_id: uuid(9, 2) }])(
    'takes %j for a passing fault, never for an empty state',
    async (answer) => {
      expect(upstreamClass(await thrownBy(read(answer)))).toBe('unavailable')
    },
  )
})
