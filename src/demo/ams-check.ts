import type { Arrival } from './ams.ts'

interface Logged {
  readonly seq: number
  readonly submissionId: string | null
}

/** Result of comparing the requests that the AMS got with the change log. Each value is a count. */
export interface AmsVerdict {
  readonly logged: number
  readonly arrived: number
  /** Changes in the log that the AMS never accepted. */
  readonly missing: number
  /** Changes that the AMS first accepted after a later change of the same submission. */
  readonly disordered: number
  /** Number of changes that arrived with several ids, plus number of ids that arrived with several changes. */
  readonly otherIds: number
  /** Accepted requests for a change that was already accepted before. */
  readonly repeated: number
  readonly refused: number
}

/** Checks that the AMS accepted each change at least once, under one id, and in order within its submission. */
export function checkAms(logged: readonly Logged[], arrivals: readonly Arrival[]): AmsVerdict {
  const accepted = arrivals.filter(({ isAccepted }) => isAccepted)
  const seen = new Set<number>()
  const newest = new Map<string, number>()
  let [disordered, repeated] = [0, 0]
  for (const { seq, submissionId } of accepted) {
    const before = submissionId === null ? 0 : (newest.get(submissionId) ?? 0)
    if (seen.has(seq)) repeated += 1
    else if (seq < before) disordered += 1
    seen.add(seq)
    if (submissionId !== null) newest.set(submissionId, Math.max(seq, before))
  }
  const missing = logged.filter(({ seq }) => !seen.has(seq)).length
  return {
    logged: logged.length,
    arrived: seen.size,
    missing,
    disordered,
    repeated,
    otherIds: ambiguous(arrivals.map(({ seq, id }) => [seq, id])) + ambiguous(arrivals.map(({ seq, id }) => [id, seq])),
    refused: arrivals.length - accepted.length,
  }
}

/** @returns whether every change arrived, in order, and with the same id each time. */
export function isWhole({ missing, disordered, otherIds }: AmsVerdict): boolean {
  return missing === 0 && disordered === 0 && otherIds === 0
}

function ambiguous(pairs: readonly (readonly [unknown, unknown])[]): number {
  const seconds = new Map<unknown, Set<unknown>>()
  for (const [first, second] of pairs) seconds.set(first, (seconds.get(first) ?? new Set()).add(second))
  return [...seconds.values()].filter((set) => set.size > 1).length
}
