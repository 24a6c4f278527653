import { entities } from '../../model/entities.ts'
import { isFeed } from '../../model/reads.ts'
import type { FindingKind } from '../../store/schema/reconcile.ts'
import type { Block, Cell, Divergence, Section } from './document.ts'
import type { FindingGroup, ReportData, ReportFinding } from './report-data.ts'
import { kindNames, moment, pluralize } from './words.ts'

/** The sections about what was compared, the new findings by kind, and the findings known before. */
export function findingSections(data: ReportData): Section[] {
  const newGroups = data.groups.filter((group) => !group.standing)
  const knownGroups = data.groups.filter((group) => group.standing)
  return [
    { heading: 'What was compared', level: 2, blocks: comparedBlocks(data) },
    { heading: 'What was found', level: 2, blocks: [summaryOf(newGroups, 'Nothing new was found.')] },
    ...newGroups.map((group): Section => ({ heading: kindNames[group.kind], level: 3, blocks: groupBlocks(group) })),
    { heading: 'Known before and still true', level: 2, blocks: [summaryOf(knownGroups, 'Nothing.')] },
    ...knownGroups.map((group): Section => ({ heading: `${kindNames[group.kind]} (known)`, level: 3, blocks: groupBlocks(group) })),
  ]
}

function comparedBlocks({ run, mirror }: ReportData): Block[] {
  if (run.submissions_done === 0) return [{ kind: 'text', texts: ['No submission: nothing was read again.'] }]
  const withState = run.options.no_state !== true
  const feeds = 'Both feeds (market events and thread) of each submission were read again from the beginning, with an empty cursor'
  const state = withState ? ', and its requirements view was read once more' : ''
  const tables = entities.filter(({ read }) => withState || (read !== 'document' && isFeed(read)))
  return [
    {
      kind: 'text',
      texts: [
        `${feeds}${state}. Every row of ${tables.map(({ table }) => `\`${table}\``).join(', ')} that belongs to it was compared, field by field, with what the service answered; then the mirror was searched for rows that the service did not show.${run.options.submissions === undefined ? ' The change log was searched for missing numbers.' : ''}`,
        'Repairs are applied like deliveries and polls: they appear in `changes` with the cause `reconcile` and are sent to the destinations. A difference in `raw` alone is repaired too, without a row in `changes`.',
      ].slice(0, run.options.dry_run === true ? 1 : 2),
    },
    {
      kind: 'table',
      columns: [{ name: 'Table' }, { name: 'Rows of the account when this report was made', numeric: true }],
      rows: mirror.tables.filter(({ rows }) => rows > 0).map(({ table, rows }) => [code(table), rows]),
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
  const unlisted = group.total - group.shown.length
  const more: Block[] =
    unlisted === 0 ? [] : [{ kind: 'text', texts: [`And ${pluralize(unlisted, 'more finding')}, in the table \`reconcile_findings\`.`] }]
  const [described, plain] = [group.shown.filter(hasFields), group.shown.filter((finding) => !hasFields(finding))]
  return [
    ...(described.length > 0 ? [{ kind: 'divergences', divergences: described.map(divergenceOf) } as const] : []),
    ...(plain.length > 0 ? [plainTable(group.kind, plain)] : []),
    ...more,
  ]
}

/** Whether to list the fields: only for rows that differ. A missing or absent row is so as a whole. */
function hasFields(finding: ReportFinding): boolean {
  return finding.kind === 'different' && finding.differences.length > 0
}

function divergenceOf(finding: ReportFinding): Divergence {
  const about: Cell[] = [code(finding.entity)]
  if (finding.record !== null) about.push({ code: finding.record })
  if (finding.submissionId !== null)
    about.push('of submission', ...(finding.insuredName === null ? [] : [finding.insuredName]), code(finding.submissionId))
  if (finding.repairedAt !== null) about.push(`· repaired ${moment(finding.repairedAt)}`)
  return { record: about, fields: finding.differences }
}

/** Headings of the last two columns: when a finding was repaired, and the details of one that was not. */
const lastColumns: Readonly<Record<FindingKind, readonly [repaired: string, left: string]>> = {
  missing: ['Added', 'What was seen'],
  different: ['Repaired', 'What was seen'],
  absent: ['Marked', 'What was seen'],
  unreadable: ['Repaired', 'Reason'],
  undelivered: ['Repaired', 'Status'],
  lost: ['Repaired', 'What is missing'],
  moved: ['Read', 'What was seen'],
}

function plainTable(kind: FindingKind, findings: readonly ReportFinding[]): Block {
  const names = ['Insured', 'Submission', 'Read', 'Table', 'Record', 'Destination', ...lastColumns[kind]]
  const rows = findings.map((finding): Cell[] => [
    finding.insuredName ?? '',
    code(finding.submissionId),
    kind === 'unreadable' ? (finding.read ?? '') : '',
    code(finding.entity),
    code(finding.record),
    finding.destination ?? '',
    ...(finding.repairedAt === null ? ['', finding.detail] : [moment(finding.repairedAt), '']),
  ])
  // Columns that are empty for this kind are left out.
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
