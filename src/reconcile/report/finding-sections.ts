import { entities } from '../../model/entities.ts'
import { isFeed } from '../../model/reads.ts'
import type { FindingKind } from '../../store/schema/tables-reconcile.ts'
import type { Block, Cell, Divergence, Section } from './document.ts'
import type { FindingGroup, ReportData, ReportFinding } from './report-data.ts'
import { counted, kindNames, moment } from './words.ts'

/** What was compared, what was found, kind by kind, and what stands. */
export function findingSections(data: ReportData): Section[] {
  const fresh = data.groups.filter((group) => !group.standing)
  const standing = data.groups.filter((group) => group.standing)
  return [
    { heading: 'What was compared', level: 2, blocks: comparedBlocks(data) },
    { heading: 'What was found', level: 2, blocks: [summaryOf(fresh, 'Nothing new was found.')] },
    ...fresh.map((group): Section => ({ heading: kindNames[group.kind], level: 3, blocks: groupBlocks(group) })),
    { heading: 'What stands and was known before', level: 2, blocks: [summaryOf(standing, 'Nothing.')] },
    ...standing.map((group): Section => ({ heading: `${kindNames[group.kind]} (known)`, level: 3, blocks: groupBlocks(group) })),
  ]
}

function comparedBlocks({ run }: ReportData): Block[] {
  if (run.submissions_done === 0) return [{ kind: 'text', texts: ['No submission: nothing was read again.'] }]
  const withState = run.options.no_state !== true
  const feeds = 'Both feeds (market events and thread) of each submission were read again from the beginning, with an empty cursor'
  const state = withState ? ', and its requirements view was read once more' : ''
  const tables = entities.filter(({ read }) => withState || isFeed(read))
  return [
    {
      kind: 'text',
      texts: [
        `${feeds}${state}. Every row of ${tables.map(({ table }) => `\`${table}\``).join(', ')} that belongs to it was compared, field by field, with what the service answered; then rows were looked for that the service did not show.${run.options.submissions === undefined ? ' The change log was looked through for numbers that are left out.' : ''}`,
        'What is put right in them goes through the same door by which every delivery and every poll comes in: it stands in `changes`, with the cause `reconcile`, and goes on to the destinations. A difference in `raw` alone is put right too, and is no change of the log.',
      ].slice(0, run.options.dry_run === true ? 1 : 2),
    },
  ]
}

function summaryOf(groups: readonly FindingGroup[], none: string): Block {
  if (groups.length === 0) return { kind: 'text', texts: [none] }
  const rows = groups.flatMap((group) =>
    group.byEntity.map(({ entity, total, repaired }, index): Cell[] => [
      index === 0 ? kindNames[group.kind] : '',
      code(entity),
      total,
      repaired,
    ]),
  )
  const columns = [{ name: 'Finding' }, { name: 'Table' }, { name: 'How many', numeric: true }, { name: 'Repaired', numeric: true }]
  return { kind: 'table', columns, rows }
}

function groupBlocks(group: FindingGroup): Block[] {
  const left = group.total - group.shown.length
  const more: Block[] =
    left === 0 ? [] : [{ kind: 'text', texts: [`And ${counted(left, 'more finding')}, in the table \`reconcile_findings\`.`] }]
  const [described, plain] = [group.shown.filter(isDescribed), group.shown.filter((finding) => !isDescribed(finding))]
  return [
    ...(described.length > 0 ? [{ kind: 'divergences', divergences: described.map(divergenceOf) } as const] : []),
    ...(plain.length > 0 ? [plainTable(group.kind, plain)] : []),
    ...more,
  ]
}

/** Only of what differs the fields tell something; what is missing or absent is so as a whole. */
function isDescribed(finding: ReportFinding): boolean {
  return finding.kind === 'different' && finding.differences.length > 0
}

function divergenceOf(finding: ReportFinding): Divergence {
  const about: Cell[] = [code(finding.entity)]
  if (finding.record !== null) about.push({ code: finding.record })
  if (finding.submissionId !== null) about.push('of submission', code(finding.submissionId))
  if (finding.repairedAt !== null) about.push(`· repaired ${moment(finding.repairedAt)}`)
  return { record: about, fields: finding.differences }
}

/** When a finding was repaired, by what that means for its kind; and of one that was not, what it is. */
const lastColumns: Readonly<Record<FindingKind, readonly [repaired: string, left: string]>> = {
  missing: ['Added', 'What was seen'],
  different: ['Repaired', 'What was seen'],
  absent: ['Marked', 'What was seen'],
  unreadable: ['Repaired', 'Reason'],
  undelivered: ['Repaired', 'Where it stands'],
  lost: ['Repaired', 'What is missing'],
}

function plainTable(kind: FindingKind, findings: readonly ReportFinding[]): Block {
  const names = ['Submission', 'Read', 'Table', 'Record', 'Destination', ...lastColumns[kind]]
  const rows = findings.map((finding): Cell[] => [
    code(finding.submissionId),
    kind === 'unreadable' ? (finding.read ?? '') : '',
    code(finding.entity),
    code(finding.record),
    finding.destination ?? '',
    ...(finding.repairedAt === null ? ['', finding.detail] : [moment(finding.repairedAt), '']),
  ])
  // Each kind of finding fills other columns; an empty one tells nothing.
  const used = names.map((_, index) => rows.some((row) => row[index] !== ''))
  return {
    kind: 'table',
    columns: names.filter((_, index) => used[index]).map((name) => ({ name })),
    rows: rows.map((row) => row.filter((_, index) => used[index])),
  }
}

function code(text: string | null): Cell {
  return text === null ? '' : { code: text }
}
