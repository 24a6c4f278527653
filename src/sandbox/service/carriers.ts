import type { Clock } from '../../base/clock.ts'
import type { RailQuote } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import { type BindStatus, bindOf, moveBind } from './bind.ts'
import { bindRequestsOf } from './binding.ts'
import type { Life } from './life.ts'

export interface CarrierParts {
  readonly world: World
  readonly life: Life
  readonly clock: Clock
}

/** Releases a quote on a lane now. @throws RangeError for an unknown submission or lane. */
export function releaseQuote(
  { world, life, clock }: CarrierParts,
  submissionId: string,
  laneId: string,
  terms: { firm: boolean; totalCents?: number | undefined },
): RailQuote {
  for (const account of world.records.keys()) {
    const submission = world.submissions(account).get(submissionId)
    if (submission) return life.release(account, submission, submission.lane(laneId), clock.now(), terms)
  }
  throw new RangeError(`no submission ${submissionId}`)
}

/** Moves a bind request now. @returns it. @throws RangeError for an unknown one. */
export function moveBindRequest({ world, clock }: CarrierParts, bindRequestId: string, to: BindStatus): unknown {
  for (const account of world.records.keys()) {
    for (const submission of world.submissions(account).values()) {
      if (!bindRequestsOf(submission).some(({ bind_request_id }) => bind_request_id === bindRequestId)) continue
      return moveBind(world, account, submission, bindOf(submission, bindRequestId), to, clock.now())
    }
  }
  throw new RangeError(`no bind request ${bindRequestId}`)
}
