import { entityNamed, fieldOf } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { partsOfRowKey } from '../../model/row-key.ts'
import { parseTime, type TimeText } from '../../model/time.ts'
import { moment, viaName } from '../../reconcile/report/words.ts'
import type { Query } from '../../store/engine/db.ts'
import { deliveriesBehind } from '../../store/inbox/causes.ts'
import type { TimelinePlace } from '../../store/mirror/timeline.ts'
import type { RunRow } from '../../store/reconcile/runs.ts'
import type { Opened } from '../actions/as-of.ts'
import { timelinePage } from '../actions/timeline.ts'
import { headOf } from '../output/words.ts'

const PAGE = 200
/** Columns that name a row, best first. */
const NAMES = ['label', 'market_name', 'name', 'policy_number', 'insured_name', 'quote_id']

type Item = Awaited<ReturnType<typeof timelinePage>>['items'][number]

export interface Line extends Pick<Item, 'at' | 'kind' | 'attachments' | 'text'> {
  readonly title: string
  readonly facts: readonly string[]
  /** How the mirror learned of it. May have code in backticks. */
  readonly source: string
}

export interface RecordOf {
  /** The mirror. */
  readonly q: Query
  readonly of: SubmissionRef
  readonly opened: Pick<Opened, 'rows' | 'asOf'>
  /** Reconcile runs that may have covered the submission. */
  readonly runs: readonly RunRow[]
  /** Paths of the stored documents, by key. */
  readonly documents: ReadonlyMap<string, string>
  readonly gaps: readonly string[]
}

/** Events, messages, and changes of a submission, oldest first. */
export async function* chronology(p: RecordOf): AsyncGenerator<Line> {
  const { rows, asOf } = p.opened
  const asked = { ...p.of, kinds: ['event', 'message', 'change'], limit: PAGE, isAscending: true, asOf: { rows, seq: asOf.seq } } as const
  for (let after: TimelinePlace | null | undefined; after !== null; ) {
    const { items, next } = await timelinePage(p.q, { ...asked, after })
    for (const item of items) {
      const described = describe(item, await rowOf(rows, item))
      if (described !== null) yield { ...item, ...described, source: await sourceOf(p, item) }
    }
    after = next
  }
}

async function rowOf(rows: Query, { entity: table, row_key }: Item): Promise<Row> {
  const entity = entityNamed(table ?? '')
  const parts = partsOfRowKey(row_key ?? '') ?? []
  const key = entity?.key.map((column, place) => [column, parts[place] ?? null] as const) ?? []
  return (entity && (await rows.selectMany(entity, [Object.fromEntries(key)]))[0]) ?? {}
}

/** @returns null for a change of ids and technical columns only. */
function describe({ kind, what, party, summary, entity, operation, changed }: Item, row: Row): Pick<Line, 'title' | 'facts'> | null {
  const gone = row['gone_at'] == null ? [] : [`Not shown by the service since ${valueText('gone_at', row['gone_at'])}`]
  if (kind === 'event') return { title: headOf(what), facts: [party, summary, ...gone].filter((each) => each !== null) }
  if (kind === 'message') {
    const title = `Message from the ${row['direction'] === 'outbound' ? 'service' : 'brokerage'}: ${summary ?? 'without a subject'}`
    return { title, facts: [`From ${party}`, `To ${valueText('to_addresses', row['to_addresses'])}`, ...gone] }
  }
  const facts = changed.flatMap(({ column, before, after }) => {
    const [was, is] = [valueText(column, before), valueText(column, after)]
    const isTechnical = ['none', 'document', 'tax id'].includes(fieldOf(entity ?? '', column)?.class ?? 'none')
    if (was === is || (isTechnical && column !== 'gone_at')) return []
    return [`${labelOf(column)}: ${is}${before === null ? '' : ` (before: ${was})`}`]
  })
  if (operation === 'update' && facts.length === 0) return null
  const name = NAMES.map((column) => row[column]).find((value) => typeof value === 'string')
  const verb = operation === 'insert' ? 'added' : operation === 'gone' ? 'no longer listed' : 'changed'
  return { title: `${headOf(entity ?? '')}: ${name === undefined ? '' : `${name} `}${verb}`, facts }
}

async function sourceOf(p: RecordOf, item: Item): Promise<string> {
  const { known_at: knownAt, known_via: via, webhook, webhook_at } = item
  if (knownAt === null) return ''
  const later = webhook === 'later' && webhook_at !== null ? ` A webhook followed ${moment(webhook_at)}.` : ''
  const announced = webhook === 'none' ? ' No webhook announced it.' : later
  const way =
    via === 'webhook' ? await webhookText(p, knownAt, item) : via === 'reconcile' ? runText(p, knownAt) : viaName(via ?? 'unknown')
  return `Found: ${way}. Stored ${moment(knownAt)}.${announced}`
}

async function webhookText({ q, of }: RecordOf, changedAt: TimeText, { kind, id }: Item): Promise<string> {
  const found = await deliveriesBehind(q, { ...of, changedAt }, kind === 'change' ? undefined : id)
  const texts = found.map(
    (each) => `\`${each.deliveryId}\`, received ${moment(each.receivedAt)}, signature verified with webhook secret ${each.secret}`,
  )
  if (texts.length === 0) return 'by a webhook that is no longer kept'
  return `by ${texts.length > 1 ? 'one of these webhooks:' : 'webhook'} ${texts.join('; ')}`
}

function runText({ runs }: RecordOf, at: TimeText): string {
  const run = runs.find(({ started_at, ended_at }) => started_at !== null && started_at <= at && (ended_at ?? at) >= at)
  return run === undefined ? viaName('reconcile') : `by reconcile run \`${run.run_id}\``
}

export function labelOf(column: string): string {
  return headOf(column.replace(/_cents$/, ''))
}

/** A value as people read it: amounts in dollars, times in UTC, lists with commas. */
export function valueText(column: string, value: Json | undefined): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => valueText(column, each)).join(', ') || 'none'
  if (typeof value === 'number' && column.endsWith('_cents'))
    return (value / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
  if (typeof value === 'string') return parseTime(value) === value ? moment(value) : value
  return JSON.stringify(value)
}
