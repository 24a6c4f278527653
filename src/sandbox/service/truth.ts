import type { Submission } from '../world/submission.ts'
import type { MarketEvent, RequirementsView, ThreadMessage } from '../world/wire.ts'
import { bindRequestsOf } from './binding.ts'
import { outstandingView, sessionsView, workspaceView } from './details.ts'
import { policiesOf } from './policies.ts'
import { requirementsView } from './requirements.ts'
import { Unshown } from './unshown.ts'
import { contentOf } from './variants.ts'

/** Everything that the API shows for one submission. */
export interface SubmissionTruth {
  readonly submission_id: string
  /** Oldest first. */
  readonly events: readonly MarketEvent[]
  readonly messages: readonly ThreadMessage[]
  readonly requirements: RequirementsView
  readonly outstanding: Readonly<Record<string, unknown>>
  readonly workspace: Readonly<Record<string, unknown>>
  readonly sessions: readonly Readonly<Record<string, unknown>>[]
  readonly bind_requests: readonly Readonly<Record<string, unknown>>[]
  readonly policies: readonly Readonly<Record<string, unknown>>[]
}

/** @param nowMs time of the requirements view, in ms since the epoch. */
export function submissionTruth(submission: Submission, nowMs: number, unshown: Unshown = new Unshown()): SubmissionTruth {
  return {
    submission_id: submission.id,
    events: submission.events.visible(),
    messages: submission.thread.visible(),
    requirements: contentOf('requirements', requirementsView(submission, nowMs), unshown),
    outstanding: contentOf('outstanding', outstandingView(submission), unshown),
    workspace: contentOf('workspace', workspaceView(submission), unshown),
    sessions: sessionsView(submission),
    bind_requests: bindRequestsOf(submission),
    policies: policiesOf(submission),
  }
}
