import type { Priority } from '../base/limiter.ts'
import type { OwnStateRead } from '../model/reads.ts'
import type { View } from '../model/view.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readOutstanding, readRequirements } from '../upstream/wire/requirements.ts'
import { readSessions } from '../upstream/wire/sessions.ts'
import { readWorkspace } from '../upstream/wire/workspace.ts'

const readers: Readonly<Record<OwnStateRead, (answer: unknown) => View | null>> = {
  requirements: readRequirements,
  outstanding: readOutstanding,
  workspace: readWorkspace,
  sessions: readSessions,
}

/**
 * Reads one view of a submission's state. Only the requirements view has the rail, which lists the lanes (trap 11).
 * @throws errors of the client.
 * @throws UpstreamTransientError if the answer isn't the requested view.
 */
export async function readState(
  client: UpstreamClient,
  read: OwnStateRead,
  submissionId: string,
  signal: AbortSignal,
  priority?: Priority,
): Promise<View> {
  const view = readers[read](await client.state(read, submissionId, signal, priority))
  if (view !== null) return view
  throw new UpstreamTransientError('unavailable', { operation: read, submissionId, withCursor: false }, `the answer is not a ${read} view`)
}
