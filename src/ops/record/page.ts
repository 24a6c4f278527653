import type { Row } from '../../model/entity.ts'
import type { Block, Cell } from '../../reconcile/report/document.ts'
import { pageAround, sectionMarkup, withCode } from '../../reconcile/report/html.ts'
import { html, type Markup } from '../../reconcile/report/markup.ts'
import { moment } from '../../reconcile/report/words.ts'
import { openItemsOf, quotesOf } from '../../store/mirror/open-work.ts'
import { wholeSubmission } from '../../store/mirror/whole-submission.ts'
import { chronology, type Line, labelOf, type RecordOf, valueText } from './chronology.ts'

/** `index.html`: one page without scripts and external content, for screens and paper. */
export async function* recordPage(p: RecordOf, footer: string): AsyncGenerator<string> {
  const { account, submissionId } = p.of
  const key = { account, submission_id: submissionId }
  const { rows, asOf } = p.opened
  const tables = new Map((await wholeSubmission(rows, key)).map(({ entity, rows: own }) => [entity.table, own]))
  const of = (table: string) => tables.get(table) ?? []
  const files = of('documents').map((row) => ({ ...row, file: p.documents.get(String(row['document_key'])) ?? null }))
  const name = String(of('submissions')[0]?.['insured_name'] ?? 'Submission without a name')
  const sections: readonly (readonly [heading: string, rows: readonly Row[], columns: string])[] = [
    ['Submission', of('submissions'), 'lines state effective_date marketing_status tracked_at'],
    ['Markets', of('lanes'), 'market_name program status_label bound next_step gone_at'],
    ['Quotes', await quotesOf<Row>(rows, key), 'market_name premium_display is_revision may_be_superseded is_bound_quote first_seen_at'],
    ['Bind requests', of('bind_requests'), 'status_label requested_at effective_date payment_option quote_id policy_id'],
    ['Policies', of('policies'), 'policy_number carrier_name effective_date expiration_date total_billed_cents'],
    ['Open items', await openItemsOf<Row>(rows, key), 'label market_name how_to_provide source'],
    ['Documents', files, 'name origin stored_at file'],
  ]
  const [start, end] = pageAround(`Record: ${name}`, [footer])
  yield html`${start}<header><h1>${name}</h1><p class="subtitle">Record of submission ${submissionId}</p></header>
<p>This page lists what the submission service sent about this submission until ${moment(asOf.at)}, and when the brokerage's mirror stored it. All times are UTC. The archive contains the named files; <code>manifest.json</code> has the SHA-256 of each.</p>
${sections.map(([heading, own, columns]) => sectionMarkup({ heading, level: 2, blocks: [table(own, columns.split(' '))] }))}
${sectionMarkup({ heading: 'Limits of this record', level: 2, blocks: [{ kind: 'list', items: p.gaps.map((text) => ({ text })) }] })}
<section><h2>Chronology</h2><p>Events and messages have the time at which they happened. Changes have the time at which the mirror learned of them.</p>
`.text
  for await (const line of chronology(p)) yield lineMarkup(line, p.documents).text
  yield `</section>\n${end.text}`
}

function table(rows: readonly Row[], columns: readonly string[]): Block {
  if (rows.length === 0) return { kind: 'text', texts: ['None.'] }
  const textOf = (row: Row, column: string) => (row[column] == null ? '' : valueText(column, row[column]))
  const cell = (text: string, column: string): Cell => (text !== '' && /_id$|^file$/.test(column) ? { code: text } : text)
  return {
    kind: 'table',
    columns: columns.map((name) => ({ name: labelOf(name) })),
    rows: rows.map((row) => columns.map((column) => cell(textOf(row, column), column))),
  }
}

function lineMarkup({ at, kind, title, facts, text, attachments, source }: Line, documents: ReadonlyMap<string, string>): Markup {
  const files = attachments.map(({ name, document_key }) => {
    const path = documents.get(document_key ?? '')
    return html`<p>Attachment: ${path === undefined ? `${name} (not in this archive)` : html`<a href="${encodeURI(path)}">${path}</a>`}</p>`
  })
  return html`<article><h3>${moment(at)}${kind === 'change' ? ' (learned)' : ''} · ${title}</h3>
<p>${facts.join(' · ')}</p>${text ? html`<p style="white-space: pre-wrap; overflow-wrap: anywhere">${text}</p>` : ''}${files}<p class="subtitle">${withCode(source)}</p></article>\n`
}
