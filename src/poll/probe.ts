import { messageOf } from '../base/errors.ts'
import type { Query } from '../store/engine/db.ts'
import { sampleReadSubmissions, submissionIdsAfter } from '../store/reads/account-reads.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { type UpstreamClass, upstreamClass } from '../upstream/http/errors.ts'

export interface ProbeOutcome {
  readonly kind: UpstreamClass | 'read'
  readonly message: string
}

/**
 * Reads submissions one after another, until one read succeeds.
 * @throws errors that don't come from the service; any error after `signal` aborted.
 */
export async function probe(client: UpstreamClient, submissionIds: readonly string[], signal: AbortSignal): Promise<ProbeOutcome[]> {
  const answers: ProbeOutcome[] = []
  for (const submissionId of submissionIds) {
    try {
      await client.state('requirements', submissionId, signal)
      return [...answers, { kind: 'read', message: '' }]
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      answers.push({ kind, message: messageOf(error) })
    }
  }
  return answers
}

/**
 * @returns the message of the last refusal, if the service answered each read with a refusal or a 404.
 * Returns null if no read was refused, or if a read succeeded or failed for another reason.
 */
export function refusalIn(answers: readonly ProbeOutcome[]): string | null {
  const found = answers.filter(({ kind }) => kind !== 'gone')
  return found.every(({ kind }) => kind === 'auth') ? (found.at(-1)?.message ?? null) : null
}

/** @returns submissions of the account. The most recently read submissions come first. */
export async function someSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const read = await sampleReadSubmissions(q, account, limit)
  return [...new Set([...read, ...(await submissionIdsAfter(q, account, '', limit))])].slice(0, limit)
}
