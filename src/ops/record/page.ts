import type { Row } from '../../model/entity.ts'
import { DROPPED } from '../../model/protection/protection.ts'
import type { Block, Cell } from '../../reconcile/report/document.ts'
import { linkMarkup, pageAround, sectionMarkup, withCode } from '../../reconcile/report/html.ts'
import { html, type Markup } from '../../reconcile/report/markup.ts'
import { moment, pluralize } from '../../reconcile/report/words.ts'
import { openItemsOf } from '../../store/mirror/open-work.ts'
import { type Contents, type Entry, entriesOf, labelOf, marketOf, relatedOf, rowsOf, valueText } from './chronology.ts'

/** What no record can show. */
const LIMITS = [
  'This record does not show that a person read a message. It shows when the mirror stored it.',
  'This record does not show that a premium or a statement is correct. It shows what the service sent.',
  'The service does not say which quote an event announced. If several events fit, the table of quotes has the time of each.',
  'Phone calls, other mailboxes, and texts outside of the service are not part of it.',
  'The brokerage has the webhook secret too. A signature alone does not exclude that the brokerage made a delivery.',
  'SHA-256 values show changes after the export. They do not show changes of the database before it.',
]

/** `index.html`: one page without scripts and external content, for screens and paper. */
export async function recordPage(c: Contents, footer: string): Promise<string> {
  const { account, submissionId } = c.of
  const [submission = {}] = rowsOf(c, 'submissions')
  const title = `Record: ${submission['insured_name'] ?? 'submission without a name'}`
  const withMarket = (table: string) => rowsOf(c, table).map((row): Row => ({ ...row, market_name: marketOf(c, row) }))
  const binds = withMarket('bind_requests').map((row): Row => {
    const [quote, policy] = [relatedOf(c, row, 'quotes', 'quote_id'), relatedOf(c, row, 'policies', 'policy_id')]
    return { ...row, premium_display: quote?.['premium_display'] ?? null, policy_number: policy?.['policy_number'] ?? null }
  })
  const orderOf = (quote: Row) => `${quote['market_name']} ${quote['first_seen_at']} ${quote['is_revision']}`
  const quotes = withMarket('quotes').map((row): Row => ({ ...row, quoted_at: quotedAt(c, row) }))
  quotes.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  const openItems = await openItemsOf<Row>(c.opened.rows, { account, submission_id: submissionId })
  const sections: readonly (readonly [heading: string, rows: readonly Row[], columns: string])[] = [
    ['Submission', [submission], 'insured_name state lines effective_date'],
    ['Markets', rowsOf(c, 'lanes'), 'market_name program lines status_label next_step gone_at'],
    ['Quotes', quotes, 'market_name premium_display lines is_revision quoted_at first_seen_at gone_at'],
    ['Requirements, as checked by the service', withMarket('requirement_items'), 'market_name label result due_stage gone_at'],
    ['Open items, which the brokerage must still supply', openItems, 'market_name label how_to_provide'],
    ['Bind requests', binds, 'market_name premium_display status_label requested_at requested_by payment_option policy_number gone_at'],
    [
      'Policies',
      rowsOf(c, 'policies'),
      'policy_number carrier_name effective_date expiration_date net_premium_cents fees_cents taxes_cents total_billed_cents gone_at',
    ],
    ['Documents, in the folder documents of this archive', rowsOf(c, 'documents'), 'name origin stored_at gone_at'],
  ]
  const entries = entriesOf(c)
  const copied = entries.filter(({ isFirstCopy }) => isFirstCopy)
  const copiedRows = copied.map(({ at, title, facts }): Row => ({ first_seen_at: at, entry: title, values: facts.join(' · ') }))
  const firstCopy = table(c, copiedRows, ['first_seen_at', 'entry', 'values'])
  const list = (heading: string, texts: readonly string[]) =>
    sectionMarkup({ heading, level: 2, blocks: [{ kind: 'list', items: texts.map((text) => ({ text })) }] })
  const content = html`<header><h1>${title}</h1><p class="subtitle">Submission ${submissionId}, as of ${moment(c.opened.asOf.at)}</p></header>
${introduction(c).map((text) => html`<p>${withCode(text)}</p>`)}
${sections.map(([heading, rows, columns]) => sectionMarkup({ heading, level: 2, blocks: [table(c, rows, columns.split(' '))] }))}
<section><h2>Chronology</h2>
<p>Events, messages, and bind requests have the time that the service gives. Other entries have the time at which the mirror first stored them.</p>
<p>The mirror began to track this submission on ${valueText('', submission['tracked_at'])}. Entries before then come from the service's history, which is not signed.${copied.length === 0 ? '' : ` The first copy of other data, such as quotes and requirements, has ${pluralize(copied.length, 'row')}, which are in the appendix.`}</p>
${entries.filter(({ isFirstCopy }) => !isFirstCopy).map((entry) => entryMarkup(entry, c))}</section>
${list('Checks', c.checks)}${list('Limits', [...c.gaps, ...LIMITS])}
${copied.length === 0 ? '' : sectionMarkup({ heading: 'Appendix: first copy', level: 2, blocks: [firstCopy] })}`
  return pageAround(title, content, [footer])
}

function introduction(c: Contents): string[] {
  const held = (table: string, id: string) => {
    const rows = rowsOf(c, table)
    return `${rows.filter((row) => c.deliveries.has(String(row[id]))).length} of ${rows.length}`
  }
  return [
    `The brokerage places insurance through a service, which passes submissions to markets: carriers and their programs. The mirror is a program of the brokerage that stores what the service shows. This record lists what it had stored about this submission until ${moment(c.opened.asOf.at)}. All times are UTC.`,
    'Each entry names its source. In a signed delivery, the service sends an event or a message to the mirror with a signature. A signature is a code that only someone with the webhook secret can compute for exactly this text. The service and the brokerage have this secret; a number distinguishes several. Everything else was fetched: the mirror asked the service and stored the answer, which has no signature.',
    `This archive holds a signed delivery for ${held('market_events', 'event_id')} events and ${held('thread_messages', 'message_id')} messages. The service does not sign quotes, requirements, bind requests, policies, and documents.`,
    'The SHA-256 of a file is its fingerprint: a change of one character changes it. `manifest.json` in this archive lists the SHA-256 of each file. To check all files and signatures, run `submission-mirror submission export --check FILE.zip`.',
  ]
}

/** When a market event announced a quote: before the mirror stored it, and after it stored the lane's earlier quote. */
function quotedAt(c: Contents, { lane_id, first_seen_at }: Row): string {
  const ofLane = (table: string) => rowsOf(c, table).filter((row) => row['lane_id'] === lane_id)
  const stored = ofLane('quotes').map((quote) => String(quote['first_seen_at']))
  const earlier = stored.sort().findLast((at) => at < String(first_seen_at)) ?? ''
  const events = ofLane('market_events').filter(({ type }) => type === 'quote_received')
  const times = events.map(({ occurred_at }) => String(occurred_at)).filter((at) => at > earlier && at <= String(first_seen_at))
  return times.sort().map(moment).join(' or ')
}

/** Without columns that are empty in all rows. */
function table({ documents }: Contents, rows: readonly Row[], columns: readonly string[]): Block {
  if (rows.length === 0) return { kind: 'text', texts: ['None.'] }
  const cell = (row: Row, column: string): Cell => {
    const text = valueText(column, row[column])
    const href = column === 'name' ? documents.get(String(row['document_key'])) : undefined
    return href === undefined ? text : { text, href }
  }
  const shown = columns.filter((column) => rows.some((row) => valueText(column, row[column]) !== ''))
  const names = shown.map((column) => ({ name: labelOf(column) }))
  return { kind: 'table', columns: names, rows: rows.map((row) => shown.map((column) => cell(row, column))) }
}

function entryMarkup({ at, title, facts, text, files = [], source }: Entry, { documents }: Contents): Markup {
  const links = files.map(({ name, document_key }) => {
    const href = documents.get(String(document_key))
    return html`<p>File: ${href === undefined ? `${name} (not in this archive)` : linkMarkup({ text: String(name), href })}</p>`
  })
  const isProtected = `${text} ${facts}`.includes(DROPPED)
  return html`<article><h3>${moment(at)} · ${title}</h3>
<p>${facts.filter((fact) => fact !== '').join(' · ')}</p>${text ? html`<p class="text">${String(text)}</p>` : ''}${links}
<p class="subtitle">${isProtected ? `${DROPPED} replaces a tax id, which the mirror does not store. ` : ''}Source: ${source}</p></article>\n`
}
