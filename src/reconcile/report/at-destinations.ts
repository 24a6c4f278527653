import type { Block, Cell, Section } from './document.ts'
import type { ReportData } from './report-data.ts'
import { moment } from './words.ts'

const columns = [
  { name: 'Destination' },
  ...['Delivered', 'Has', 'Lacks', 'Differs', 'Cannot tell', 'Sent again'].map((name) => ({ name, numeric: true })),
  { name: 'Asked' },
]

/** The section about what the destinations have of what they took, as they answered when they were asked. */
export function atDestinationsSection({ destinations }: Pick<ReportData, 'destinations'>): Section {
  return { heading: 'At the destinations', level: 2, blocks: blocksOf(destinations) }
}

function blocksOf(destinations: ReportData['destinations']): Block[] {
  if (destinations.length === 0) return [{ kind: 'text', texts: ['No destination has taken a change of this account.'] }]
  return [
    { kind: 'table', columns, rows: destinations.map(rowOf) },
    {
      kind: 'text',
      texts: [
        'Delivered: changes that the destination took, of those that `RETENTION_DAYS` keeps. All else is what it answered when it was asked for them (`submission-mirror destination verify`), and `push_verifications` says it of each change. Of what nobody asked for it is known only that it was taken.',
      ],
    },
  ]
}

function rowOf({ destination, delivered, has, lacks, differs, cannot_tell, repaired, ...at }: ReportData['destinations'][number]): Cell[] {
  if (at.oldest_at === null || at.newest_at === null) return [destination, delivered, '', '', '', '', '', 'never']
  const asked = at.oldest_at === at.newest_at ? moment(at.newest_at) : `${moment(at.oldest_at)} to ${moment(at.newest_at)}`
  return [destination, delivered, has, lacks, differs, cannot_tell, repaired, asked]
}
