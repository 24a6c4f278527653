import type { Config } from '../../config/config.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { type MappingRow, type StoredMapping, storeMappings } from '../../store/outbox/push-map.ts'
import { MismatchError } from '../output/refusals.ts'
import { type ActionContext, inSteps } from './context.ts'
import { destinationNamed } from './destinations.ts'
import type { MapTarget } from './map-file.ts'

/** Mappings per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/** A mapping as lists show it. */
export function shownMapping({ destination, account, submissionId, client, policy, fields, mappedAt, mappedVia }: StoredMapping) {
  return { destination, account, submission_id: submissionId, client, policy, fields, mapped_at: mappedAt, mapped_via: mappedVia }
}

/** The destination of an import, and its accounts. @throws NotFoundError, or MismatchError when it takes no mappings. */
export function mapTarget(config: Pick<Config, 'destinations'>, name: string): MapTarget {
  const { accounts, mapping } = destinationNamed(config, name)
  if (mapping === 'none') {
    throw new MismatchError([`destination ${name} uses no mapping, so nothing was stored; set its \`mapping\` to required first`])
  }
  if (accounts.length === 0)
    throw new MismatchError([`destination ${name} has no account in the settings; run this with the same settings as \`serve\``])
  return { destination: name, accounts }
}

/**
 * Stores mappings of one destination; changes that waited for them go out.
 * @param via stored with each mapping.
 * @returns how many of the submissions the mirror does not know yet.
 */
export async function importMappings(
  a: ActionContext,
  destination: string,
  rows: readonly MappingRow[],
  via: 'import' | 'admin',
): Promise<{ readonly unknown: number }> {
  // The audit entry need not repeat the mappings: they are in the table.
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
