import { atDestinationsSection } from './at-destinations.ts'
import type { Block, ReportDocument, Tile } from './document.ts'
import { findingSections } from './finding-sections.ts'
import { limitsOf, meaningsOf } from './meaning.ts'
import type { FirstSeen, ReportData } from './report-data.ts'
import { runFacts } from './run-facts.ts'
import { newFindings, verdictOf } from './verdict.ts'
import { moment, number, unitNames, viaName } from './words.ts'

/** Builds the report's content. */
export function documentOf(data: ReportData): ReportDocument {
  const { run } = data
  return {
    title: 'Reconciliation report',
    subtitle: `Account ${run.account} · ${moment(run.started_at ?? run.requested_at)}`,
    verdict: verdictOf(data),
    tiles: tilesOf(data),
    sections: [
      {
        heading: 'What it means',
        level: 2,
        blocks: [{ kind: 'list', items: meaningsOf(data) }],
      },
      ...findingSections(data),
      atDestinationsSection(data),
      { heading: 'How records were found', level: 2, blocks: firstSeenBlocks(data.firstSeen) },
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
  if (firstSeen.buckets.length === 0) return [{ kind: 'text', texts: ['The mirror has no event and no message of this account yet.'] }]
  return [
    {
      kind: 'chart',
      firstSeen,
      caption: `Events and messages by how the mirror first saw them, for each ${unitNames[firstSeen.unit]} (UTC)`,
    },
    {
      kind: 'table',
      columns: [{ name: 'First seen' }, { name: 'Events', numeric: true }, { name: 'Messages', numeric: true }],
      rows: firstSeen.totals.map(({ via, events, messages }) => [viaName(via), events, messages]),
    },
    {
      kind: 'text',
      texts: [
        'Records that came by polling or a reconciliation were not announced by a webhook first. A growing share of them means that deliveries are lost: see `submission-mirror status`, and check the webhook endpoint in the portal.',
      ],
    },
  ]
}

function footerOf({ run, madeAt, version }: ReportData): string[] {
  return [
    `Made by submission-mirror ${version} at ${moment(madeAt)}. Values that may name a person are not shown; look them up in the mirror by their ids.`,
    `Source: the tables reconcile_runs and reconcile_findings, run_id ${run.run_id}.`,
  ]
}
