import type { Block, Cell, ReportDocument, Tile } from './document.ts'
import { findingSections } from './finding-sections.ts'
import { limitsOf, meaningsOf } from './meaning.ts'
import type { FirstSeen, ReportData } from './report-data.ts'
import { runFacts } from './run-facts.ts'
import { newFindings, verdictOf } from './verdict.ts'
import { moment, number, unitNames, viaName } from './words.ts'

export function documentOf(data: ReportData): ReportDocument {
  const { run } = data
  return {
    title: 'Reconciliation report',
    subtitle: `Account ${run.account} · ${moment(run.started_at ?? run.requested_at)}`,
    verdict: verdictOf(data),
    tiles: tilesOf(data),
    sections: [
      {
        heading: 'Meaning',
        level: 2,
        blocks: [{ kind: 'list', items: meaningsOf(data) }],
      },
      ...findingSections(data),
      { heading: 'What the destinations have', level: 2, blocks: destinationBlocks(data.destinations) },
      { heading: 'How records arrived', level: 2, blocks: firstSeenBlocks(data.firstSeen) },
      { heading: 'What this report cannot exclude', level: 2, blocks: [{ kind: 'list', items: limitsOf(data).map((text) => ({ text })) }] },
      { heading: 'The run', level: 2, blocks: [{ kind: 'facts', rows: runFacts(data) }] },
    ],
    footer: footerOf(data),
  }
}

function tilesOf({ run }: ReportData): Tile[] {
  const newCount = newFindings(run)
  const isComplete = run.submissions_done === run.submissions_total
  return [
    {
      value: number(run.submissions_done),
      label: `of ${number(run.submissions_total)} submissions compared`,
      tone: isComplete ? 'plain' : 'left',
    },
    { value: number(run.rows_compared), label: 'rows compared', tone: 'plain' },
    { value: number(newCount), label: 'new findings', tone: newCount === 0 ? 'good' : 'left' },
    { value: number(run.repaired), label: 'repaired', tone: run.repaired > 0 ? 'repaired' : 'plain' },
    { value: number(run.unreadable), label: 'could not be read', tone: run.unreadable > 0 ? 'bad' : 'plain' },
    { value: number(run.known), label: 'known before', tone: 'plain' },
  ]
}

function firstSeenBlocks(firstSeen: FirstSeen): Block[] {
  if (firstSeen.buckets.length === 0) return [{ kind: 'text', texts: ['The mirror has no events and messages of this account yet.'] }]
  return [
    {
      kind: 'chart',
      firstSeen,
      caption: `Events and messages by how they arrived, per ${unitNames[firstSeen.unit]} (UTC)`,
    },
    {
      kind: 'table',
      columns: [{ name: 'First seen' }, { name: 'Events', numeric: true }, { name: 'Messages', numeric: true }],
      rows: firstSeen.totals.map(({ via, events, messages }) => [viaName(via), events, messages]),
    },
    {
      kind: 'text',
      texts: [
        'Records that arrived by polling or a reconciliation had no webhook before. If their share grows, deliveries are lost: see `submission-mirror status`, and check the webhook endpoint in the portal.',
      ],
    },
  ]
}

function footerOf({ run, madeAt, version }: ReportData): string[] {
  return [
    `Created by submission-mirror ${version} at ${moment(madeAt)}. Personal values are not shown; look them up in the mirror by their ids.`,
    `Source: the tables reconcile_runs and reconcile_findings, run_id ${run.run_id}.`,
  ]
}

const columns = [
  { name: 'Destination' },
  ...['Delivered', 'Has', 'Lacks', 'Differs', 'Undetermined', 'Sent again'].map((name) => ({ name, numeric: true })),
  { name: 'Verified' },
]

function destinationBlocks(destinations: ReportData['destinations']): Block[] {
  if (destinations.length === 0) return [{ kind: 'text', texts: ['No destination has received a change of this account.'] }]
  return [
    { kind: 'table', columns, rows: destinations.map(rowOf) },
    {
      kind: 'text',
      texts: [
        'Delivered: changes that the destination accepted within `RETENTION_DAYS`. The other columns are results of `submission-mirror destination verify`; `push_verifications` has them for each change.',
      ],
    },
  ]
}

function rowOf({ destination, delivered, has, lacks, differs, undetermined, repaired, ...at }: ReportData['destinations'][number]): Cell[] {
  if (at.oldest_at === null || at.newest_at === null) return [destination, delivered, '', '', '', '', '', 'never']
  const asked = at.oldest_at === at.newest_at ? moment(at.newest_at) : `${moment(at.oldest_at)} to ${moment(at.newest_at)}`
  return [destination, delivered, has, lacks, differs, undetermined, repaired, asked]
}
