import { entities } from '../../model/entities.ts'
import { isFeed } from '../../model/reads.ts'
import type { FindingKind } from '../../store/schema/reconcile.ts'
import type { Block, Cell, Divergence, Section } from './document.ts'
import type { FindingGroup, ReportData, ReportFinding } from './report-data.ts'
import { kindNames, moment, pluralize } from './words.ts'

/** @returns the sections about what was compared, new findings by kind, and known findings. */
export function findingSections(data: ReportData): Section[] {
  const newGroups = data.groups.filter((group) => !group.known)
  const knownGroups = data.groups.filter((group) => group.known)
  return [
    { heading: 'What was compared', level: 2, blocks: comparedBlocks(data) },
    { heading: 'Findings', level: 2, blocks: [summaryOf(newGroups, 'No new findings.')] },
    ...newGroups.map((group): Section => ({ heading: kindNames[group.kind], level: 3, blocks: groupBlocks(group) })),
    { heading: 'Known findings', level: 2, blocks: [summaryOf(knownGroups, 'None.')] },
    ...knownGroups.map((group): Section => ({ heading: `${kindNames[group.kind]} (known)`, level: 3, blocks: groupBlocks(group) })),
  ]
}

function comparedBlocks({ run, mirror }: ReportData): Block[] {
  if (run.submissions_done === 0) return [{ kind: 'text', texts: ['No submission was read again.'] }]
  const withState = run.options.no_state !== true
  const feeds = 'Both feeds (market events and thread) of each submission were read again from the beginning'
  const state = withState ? ', and its state' : ''
  const tables = entities.filter(({ read }) => withState || (read !== 'document' && isFeed(read)))
  return [
    {
      kind: 'text',
      texts: [
        `${feeds}${state}. Every row of the submission in ${tables.map(({ table }) => `\`${table}\``).join(', ')} was compared with the service's answers, field by field; then the mirror was searched for rows that the service does not have.${run.options.submissions === undefined ? ' The change log was searched for missing numbers.' : ''}`,
        'Repairs appear in `changes` with the cause `reconcile`, and destinations receive them. A difference only in `raw` is repaired without a row in `changes`.',
      ].slice(0, run.options.dry_run === true ? 1 : 2),
    },
    {
      kind: 'table',
      columns: [{ name: 'Table' }, { name: 'Rows of the account at the time of this report', numeric: true }],
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
  const columns = [{ name: 'Finding' }, { name: 'Table' }, { name: 'Number', numeric: true }, { name: 'Repaired', numeric: true }]
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

const lastColumns: Readonly<Record<FindingKind, readonly [repaired: string, left: string]>> = {
  missing: ['Added', 'Details'],
  different: ['Repaired', 'Details'],
  absent: ['Marked', 'Details'],
  unreadable: ['Repaired', 'Reason'],
  undelivered: ['Repaired', 'Status'],
  lost: ['Repaired', 'What is missing'],
  moved: ['Read', 'Details'],
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
  // Columns without any value are omitted.
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
