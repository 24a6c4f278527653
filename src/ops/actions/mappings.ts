import type { Config } from '../../config/config.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { type MappingRow, type StoredMapping, storeMappings } from '../../store/outbox/push-map.ts'
import { MismatchError } from '../output/refusals.ts'
import { type ActionContext, inSteps } from './context.ts'
import { destinationNamed } from './destinations.ts'
import type { MapTarget } from './map-file.ts'

/** Mappings in one transaction: few enough that a running serve does not wait. */
const STEP = 200

/** A mapping as lists show it. */
export function shownMapping({ destination, account, submissionId, client, policy, fields, mappedAt, mappedVia }: StoredMapping) {
  return { destination, account, submission_id: submissionId, client, policy, fields, mapped_at: mappedAt, mapped_via: mappedVia }
}

/** What mappings to a destination may be about. @throws NotFoundError, or MismatchError when it can have none. */
export function mapTarget(config: Pick<Config, 'destinations'>, name: string): MapTarget {
  const { accounts, mapping } = destinationNamed(config, name)
  if (mapping === 'none') {
    throw new MismatchError([`destination ${name} asks for no mapping; set its mapping to required, or take this back`])
  }
  if (accounts.length === 0)
    throw new MismatchError([`destination ${name} has no account in the settings; set the account as for \`serve\``])
  return { destination: name, accounts }
}

/**
 * Stores mappings to one destination; what waited for them goes out.
 * @param via what is kept of the way they came.
 * @returns how many of the submissions the mirror does not know yet.
 */
export async function importMappings(
  a: ActionContext,
  destination: string,
  rows: readonly MappingRow[],
  via: 'import' | 'admin',
): Promise<{ readonly unknown: number }> {
  // Which client a submission belongs to is in the table; the note need not repeat it.
  const note = { who: a.who, action: 'mapping.import', target: destination, detail: { rows: rows.length } }
  return await auditAction(a.db, note, async () => {
    let unknown = 0
    await inSteps(a, rows, STEP, async (step) => {
      await storeMappings(a.db, step, via)
      const keys = step.map(({ account, submissionId }) => ({ account, submission_id: submissionId }))
      unknown += step.length - (await knownSubmissions(a.db.read, keys)).size
    })
    return { unknown, detail: { unknown_submissions: unknown } }
  })
}
