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
 * Reads submissions one after another until a read succeeds.
 * @throws errors not from the service, and any error once `signal` is aborted.
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

/** @returns the last refusal if all answers except 404 are refusals; else null. */
export function refusalIn(answers: readonly ProbeOutcome[]): string | null {
  const found = answers.filter(({ kind }) => kind !== 'gone')
  return found.every(({ kind }) => kind === 'auth') ? (found.at(-1)?.message ?? null) : null
}

/** Submissions of the account, most recently read first. */
export async function someSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const read = await sampleReadSubmissions(q, account, limit)
  return [...new Set([...read, ...(await submissionIdsAfter(q, account, '', limit))])].slice(0, limit)
}
