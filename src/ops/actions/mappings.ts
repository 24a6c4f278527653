import { UsageError } from '../../base/errors.ts'
import type { Config } from '../../config/config.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { storeMappings } from '../../store/outbox/push-map.ts'
import { MismatchError } from '../output/refusals.ts'
import { firstProblems } from '../output/text.ts'
import { type ActionContext, inSteps } from './context.ts'
import { destinationNamed } from './destinations.ts'
import type { MapFile, MapTarget } from './map-file.ts'

/** Mappings per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

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
 * Stores mappings of one destination, all or none; changes that waited for them go out.
 * @returns how many, and of how many the mirror does not know the submission yet.
 * @throws UsageError with what is wrong with them.
 */
export async function importMappings(a: ActionContext, { destination }: MapTarget, { rows, problems }: MapFile) {
  if (problems.length > 0) throw new UsageError([...firstProblems(problems), 'nothing was stored'])
  // The audit entry need not repeat the mappings: they are in the table.
  const note = { who: a.who, action: 'mapping.import', target: destination, detail: { rows: rows.length } }
  const { unknown } = await auditAction(a.db, note, async () => {
    let unknown = 0
    await inSteps(a, rows, STEP, async (step) => {
      await storeMappings(a.db, step, a.who === 'command' ? 'import' : 'admin')
      const keys = step.map(({ account, submissionId }) => ({ account, submission_id: submissionId }))
      unknown += step.length - (await knownSubmissions(a.db.read, keys)).size
    })
    return { unknown, detail: { unknown_submissions: unknown } }
  })
  return { stored: rows.length, unknown_submissions: unknown }
}
