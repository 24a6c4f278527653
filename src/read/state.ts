import type { Priority } from '../base/limiter.ts'
import type { StateRead } from '../model/reads.ts'
import { type View, viewOf } from '../model/view.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readRequirements } from '../upstream/wire/wire.ts'

type Reader = (client: UpstreamClient, submissionId: string, signal: AbortSignal, priority?: Priority) => Promise<View | null>

/** The request of each state read; null when the answer is not such a view. */
const readers: Readonly<Record<StateRead, Reader>> = {
  requirements: async (client, ...asked) => {
    const requirements = readRequirements(await client.requirements(...asked))
    return requirements && viewOf(requirements)
  },
}

/**
 * Reads a view of a submission's state. The requirements view is the one documented source of it (trap 11).
 * @throws errors of the client; UpstreamTransientError when the answer is not such a view.
 */
export async function readState(
  client: UpstreamClient,
  read: StateRead,
  submissionId: string,
  signal: AbortSignal,
  priority?: Priority,
): Promise<View> {
  const view = await readers[read](client, submissionId, signal, priority)
  if (view !== null) return view
  throw new UpstreamTransientError('unavailable', { operation: read, submissionId, withCursor: false }, `the answer is not a ${read} view`)
}
