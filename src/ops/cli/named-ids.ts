import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import { parseUuid } from '../../model/uuid.ts'

/** The options of a command that names what has an id of its own. */
export interface NamedOptions {
  bindRequest?: string[]
  policy?: string[]
  insured?: string[]
}

/**
 * @param submissions that the command names too: the ids belong to it when it is the only one.
 * @param problems gets a line for each id that is none, and one when bind requests lack their submission.
 */
export function namedIds(options: NamedOptions, submissions: readonly string[], problems: string[]): KnownId[] {
  const submissionId = submissions.length === 1 ? (submissions[0] ?? '') : ''
  const named = (kind: KnownKind, texts: readonly string[] = []) =>
    texts.flatMap((text): KnownId[] => {
      const id = parseUuid(text)
      if (id === null) problems.push(`${JSON.stringify(text)} is no ${kind.replace('_', ' ')} id (a uuid)`)
      return id === null ? [] : [{ kind, id, submissionId }]
    })
  if (options.bindRequest !== undefined && submissions.length !== 1)
    problems.push('track --bind-request: give the one submission that they belong to')
  return [...named('bind_request', options.bindRequest), ...named('policy', options.policy), ...named('insured', options.insured)]
}
