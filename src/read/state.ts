import type { Priority } from '../base/limiter.ts'
import type { OwnStateRead } from '../model/reads.ts'
import type { View } from '../model/view.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readOutstanding, readRequirements } from '../upstream/wire/requirements.ts'
import { readSessions } from '../upstream/wire/sessions.ts'
import { readWorkspace } from '../upstream/wire/workspace.ts'

type Reader = (client: UpstreamClient, submissionId: string, signal: AbortSignal, priority?: Priority) => Promise<View | null>

/** The request of each state read; null when the answer is not such a view. */
const readers: Readonly<Record<OwnStateRead, Reader>> = {
  requirements: async (client, ...asked) => readRequirements(await client.requirements(...asked)),
  outstanding: async (client, ...asked) => readOutstanding(await client.detail('outstanding', ...asked)),
  workspace: async (client, ...asked) => readWorkspace(await client.detail('workspace', ...asked)),
  sessions: async (client, ...asked) => readSessions(await client.detail('sessions', ...asked)),
}

/**
 * Reads a view of a submission's state. The rail of the requirements view is the one documented source of lanes (trap 11).
 * @throws errors of the client; UpstreamTransientError when the answer is not such a view.
 */
export async function readState(
  client: UpstreamClient,
  read: OwnStateRead,
  submissionId: string,
  signal: AbortSignal,
  priority?: Priority,
): Promise<View> {
  const view = await readers[read](client, submissionId, signal, priority)
  if (view !== null) return view
  throw new UpstreamTransientError('unavailable', { operation: read, submissionId, withCursor: false }, `the answer is not a ${read} view`)
}
