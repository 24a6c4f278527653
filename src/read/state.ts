import type { Priority } from '../base/limiter.ts'
import type { Requirements } from '../model/records.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readRequirements } from '../upstream/wire/wire.ts'

/**
 * Reads the requirements view of a submission, the one documented source of its state (trap 11).
 * @throws what the client throws; an answer that is no requirements view is transient, like any other that cannot be used.
 */
export async function readState(
  client: UpstreamClient,
  submissionId: string,
  signal: AbortSignal,
  priority?: Priority,
): Promise<Requirements> {
  const requirements = readRequirements(await client.requirements(submissionId, signal, priority))
  if (requirements === null) {
    throw new UpstreamTransientError(
      'unavailable',
      { operation: 'requirements', submissionId, withCursor: false },
      'the answer is no requirements view',
    )
  }
  return requirements
}
