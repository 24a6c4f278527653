import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { shortId } from '../../parts/id.tsx'
import { parseJson } from '../../parts/json.tsx'
import { MASK, ShowButton, textOf, useShownRow } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { InsuredLink } from '../submissions.tsx'

type Shown = Schemas['ReconcileFinding']
type Fields = NonNullable<Shown['fields']>

export function Finding({ finding: f }: { readonly finding: Shown }) {
  const state = f.repaired_at ? (
    <Chip word="done" label="repaired" />
  ) : f.known ? (
    <Chip word="known" label="known before" />
  ) : (
    <Chip word="waiting" label="not repaired" />
  )
  return (
    <li className="finding">
      <span>
        {f.submission_id !== null && (
          <>
            <InsuredLink item={f} />
            {', '}
          </>
        )}
        {recordOf(f)}
        {f.detail}
      </span>
      {state}
      {f.fields && f.fields.length > 0 && <Sides fields={f.fields} row={f.row_key} />}
    </li>
  )
}

const CENTS = '_cents'

function columnWord(column: string): string {
  return wordOf(column.endsWith(CENTS) ? column.slice(0, -CENTS.length) : column)
}

function valueText(column: string, value: unknown): string {
  return column.endsWith(CENTS) && typeof value === 'number' ? money(value) : textOf(value)
}

/**
 * @returns the start of a line: the record's table and short id, then a colon. If the record is a submission, omits the
 * id. '' if the finding names no table.
 */
function recordOf({ entity, entity_id }: Shown): string {
  if (entity === null) return ''
  const key = parseJson(entity_id ?? '')
  const own: unknown = Array.isArray(key) ? key.at(-1) : null
  const id = entity !== 'submissions' && (typeof own === 'string' || typeof own === 'number') ? ` ${shortId(String(own))}` : ''
  return `${wordOf(entity)}${id}: `
}

function Sides({ fields, row }: { readonly fields: Fields; readonly row: string }) {
  const { shown, show } = useShownRow({ table: 'reconcile_findings', row })
  const whole = typeof shown?.['fields'] === 'string' ? parseJson(shown['fields']) : shown?.['fields']
  const shownFields = Array.isArray(whole) ? (whole as Fields) : fields
  const isMasked = shownFields.some(({ mirror, service }) => mirror === MASK || service === MASK)
  return (
    <div className="table-room">
      <table className="sides" aria-label="Both sides">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Mirror</th>
            <th scope="col">Service</th>
          </tr>
        </thead>
        <tbody>
          {shownFields.map(({ field, mirror, service }) => (
            <tr key={field}>
              <td title={field}>{columnWord(field)}</td>
              <td>
                <del>{valueText(field, mirror)}</del>
              </td>
              <td>
                <ins>{valueText(field, service)}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isMasked && <ShowButton what="both sides" onShow={show} />}
    </div>
  )
}
