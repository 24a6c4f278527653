import type { Submission } from '../world/submission.ts'
import type { MarketEvent, RequirementsView, ThreadMessage } from '../world/wire.ts'
import { bindRequestsOf } from './binding.ts'
import { outstandingView, sessionsView, workspaceView } from './details.ts'
import { policiesOf } from './policies.ts'
import { requirementsView } from './requirements.ts'

/** Everything that the API shows of one submission, to compare a mirror with. */
export interface SubmissionTruth {
  readonly submission_id: string
  /** Both lists oldest first. */
  readonly events: readonly MarketEvent[]
  readonly messages: readonly ThreadMessage[]
  readonly requirements: RequirementsView
  readonly outstanding: Readonly<Record<string, unknown>>
  readonly workspace: Readonly<Record<string, unknown>>
  readonly sessions: readonly Readonly<Record<string, unknown>>[]
  readonly bind_requests: readonly Readonly<Record<string, unknown>>[]
  readonly policies: readonly Readonly<Record<string, unknown>>[]
}

/** @param nowMs becomes `generated_at` of the requirements view. */
export function submissionTruth(submission: Submission, nowMs: number): SubmissionTruth {
  return {
    submission_id: submission.id,
    events: submission.events.visible(),
    messages: submission.thread.visible(),
    requirements: requirementsView(submission, nowMs),
    outstanding: outstandingView(submission),
    workspace: workspaceView(submission),
    sessions: sessionsView(submission),
    bind_requests: bindRequestsOf(submission),
    policies: policiesOf(submission),
  }
}
