import { isOfRail } from '../../apply/lanes.ts'
import { type LaneRow, lanes } from '../../model/entities/lanes.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Place, StateFact } from '../../model/facts.ts'
import { hasValue } from '../../model/merge.ts'
import { partsShown, type ViewPart, viewParts } from '../../model/view.ts'
import type { MirrorReader } from '../../store/mirror/reader.ts'
import { finding, type NewFinding } from './finding.ts'

/** A part of which the mirror has rows and the answer said nothing. */
interface Unconfirmed {
  readonly part: ViewPart
  readonly finding: NewFinding
}

/** @returns the parts that a requirements view left out while the mirror has rows of them. Nothing was compared with these rows. */
export async function findUnconfirmed(
  reader: MirrorReader,
  { account, submissionId }: Place,
  states: readonly StateFact[],
): Promise<Unconfirmed[]> {
  const view = states.find(({ read }) => read === 'requirements')?.view
  if (view === undefined) return []
  const shown = partsShown(view)
  const found: Unconfirmed[] = []
  for (const part of Object.keys(viewParts) as ViewPart[]) {
    const tables = viewParts[part]
    const entity = entityNamed(tables[0])
    if (shown.includes(part) || entity === null) continue
    const rows = await reader.loadOfSubmission(entity, account, submissionId)
    if (!rows.some((row) => isConfirmable(entity.table, row))) continue
    const [stored] = await reader.loadOfSubmission(submissions, account, submissionId)
    const lastRead = stored?.[`${part}_read_at`] ?? 'never'
    const detail = `the answer had no ${part.replaceAll('_', ' ')}, so nothing confirms ${tables.join(', ')}; last read: ${lastRead}`
    const about = { submissionId, entity: entity.table, read: 'requirements', standing: true } as const
    found.push({ part, finding: finding({ ...about, kind: 'unreadable', detail }) })
  }
  return found
}

/** A lane known only from events was never in a rail. */
function isConfirmable(table: string, row: Row): boolean {
  return !hasValue(row['gone_at']) && (table !== lanes.table || isOfRail(row as LaneRow))
}
