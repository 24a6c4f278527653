import type { Row } from '../../model/entity.ts'
import { DROPPED } from '../../model/protection/protection.ts'
import type { Block, Section } from '../../reconcile/report/document.ts'
import { pageAround, sectionMarkup } from '../../reconcile/report/html.ts'
import { html } from '../../reconcile/report/markup.ts'
import { moment, pluralize } from '../../reconcile/report/words.ts'
import { entriesOf } from './chronology.ts'
import { cellOf, labelOf, NOTES, type RecordData, rowsOf, SECTIONS, textOf } from './sections.ts'

/** What no record can show. */
const LIMITS = [
  'This record does not show that a person read a message. It shows when the mirror stored it.',
  "This record does not show that a premium or a statement is correct. It shows what the mirror stored as the service's answer or delivery.",
  'The service does not say which quote an event announced.',
  'The service does not say which message or market a reply answers.',
  'Phone calls, other mailboxes, and texts outside of the service are not part of it.',
  'The brokerage has the webhook secret too. A signature alone does not exclude that the brokerage made a delivery.',
  'SHA-256 values do not show changes of the database before the export. They show later changes only if `manifest.json` is unchanged; it is not signed.',
  'The ZIP file ends with the SHA-256 of all bytes before it. Someone who changes the ZIP file can compute it again. To exclude that, compare the SHA-256 of the whole ZIP file with one that was written down at the export.',
]

/** `index.html`: one page without scripts and external content, for screens and paper. */
export function recordPage(c: RecordData, footer: string): string {
  const [submission = {}] = rowsOf(c, 'submissions')
  const [title, until] = [`Record: ${submission['insured_name'] ?? 'submission without a name'}`, moment(c.asOf.at)]
  const records = [...rowsOf(c, 'market_events'), ...rowsOf(c, 'thread_messages')]
  const signed = records.filter((row) => c.deliveries.has(String(row['event_id'] ?? row['message_id'])))
  const sections = [
    section(
      'About this record',
      text([
        `The brokerage places insurance through a service, which passes submissions to markets: carriers and their programs. The mirror is a program of the brokerage that stores what the service shows. This page lists selected data that the mirror had stored about this submission until ${until}; \`record.json\` holds the rest. All times are UTC.`,
        'Each chronology entry names its source; all tables were fetched, or follow from events and messages of the chronology. Fetched means that the mirror asked the service and stored the answer, which has no signature.',
        'In a signed delivery, the service sends an event or a message to the mirror with a signature. A signature is a code that only someone with the webhook secret can compute for exactly this text. The service and the brokerage have this secret. If there were several secrets, each has a number.',
        `This archive holds a signed delivery for ${signed.length} of ${pluralize(records.length, 'event')} and messages. The service does not sign quotes, requirements, bind requests, policies, and documents.`,
        `The SHA-256 of a file is its fingerprint: a change of one character changes it. \`manifest.json\` in this archive lists the SHA-256 of each file. To check all files and signatures, run \`submission-mirror submission export --check FILE.zip\`. ${DROPPED} in a text replaces a tax id, which the mirror does not store.`,
      ]),
    ),
    ...SECTIONS.map(([table, heading, columns]) =>
      section(heading, text([NOTES[table] ?? []].flat()), rowsTable(c, rowsOf(c, table), columns)),
    ),
    section(
      'Chronology',
      text([
        'Events, messages, and new bind requests have the time that the service gives. Other entries have the time at which the mirror first stored them.',
        `The mirror began to track this submission on ${textOf(c, submission, 'tracked_at')}. Entries before then come from the service's history or current data, which are not signed. Other data that the mirror stored in the first minute has no entry unless it changed later; see the tables.`,
      ]),
    ),
    ...entriesOf(c).map(({ at, title: heading, facts, source }): Section => {
      const rows = [...facts, { name: 'Source', value: source }]
      return { heading: `${moment(at)} · ${heading}`, level: 3, blocks: [{ kind: 'facts', rows }] }
    }),
    section('Checks', list(c.checks)),
    section('Limits', list([...c.gaps, ...LIMITS])),
  ]
  const header = html`<header><h1>${title}</h1><p class="subtitle">Submission ${c.of.submissionId}, as of ${until}</p></header>`
  return pageAround(title, html`${header}\n${sections.map(sectionMarkup)}`, [footer])
}

function section(heading: string, ...blocks: Block[]): Section {
  return { heading, level: 2, blocks }
}

function text(texts: readonly string[]): Block {
  return { kind: 'text', texts }
}

function list(texts: readonly string[]): Block {
  return { kind: 'list', items: texts.map((each) => ({ text: each })) }
}

/** @returns a table of rows, sorted by market, then oldest first. Omits columns that are empty in all rows. */
function rowsTable(c: RecordData, rows: readonly Row[], columns: string): Block {
  if (rows.length === 0) return text(['None.'])
  const orderOf = (row: Row) => `${textOf(c, row, 'market_name')} ${row['first_seen_at']}`
  const sorted = rows.toSorted((a, b) => orderOf(a).localeCompare(orderOf(b), 'en'))
  const shown = ['market_name', ...columns.split(' '), 'gone_at'].filter((column) => rows.some((row) => textOf(c, row, column) !== ''))
  const names = shown.map((column) => ({ name: labelOf(column) }))
  return { kind: 'table', columns: names, rows: sorted.map((row) => shown.map((column) => cellOf(c, row, column))) }
}
