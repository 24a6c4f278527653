import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { shortId } from '../../parts/id.tsx'
import { parsedJson } from '../../parts/json.tsx'
import { MASK, textOf, useShownRow } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { useMay } from '../../session/session.ts'
import { InsuredLink } from '../submissions.tsx'

type Shown = Schemas['ReconcileFinding']
type Fields = NonNullable<Shown['fields']>

/** One difference, with both sides. */
export function Finding({ finding: f }: { readonly finding: Shown }) {
  const state = f.repaired_at ? (
    <Chip word="done" label="repaired" />
  ) : f.standing ? (
    <Chip word="known" label="known before" />
  ) : (
    <Chip word="waiting" label="left" />
  )
  return (
    <li className="finding">
      <span>
        {f.submission_id !== null && (
          <>
            <InsuredLink item={{ account: f.account, submission_id: f.submission_id, insured_name: f.insured_name }} />
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

/** A column as people say it: an amount without its unit. */
function columnWord(column: string): string {
  return wordOf(column.endsWith(CENTS) ? column.slice(0, -CENTS.length) : column)
}

/** A value as people write it: money of the service is in cents. */
function valueText(column: string, value: unknown): string {
  return column.endsWith(CENTS) && typeof value === 'number' ? money(value) : textOf(value)
}

/** The table in words, and the record's own id, where it is not the submission itself. */
function recordOf({ entity, entity_id }: Shown): string {
  if (entity === null) return ''
  const key = parsedJson(entity_id ?? '')
  const own: unknown = Array.isArray(key) ? key.at(-1) : null
  const id = entity !== 'submissions' && (typeof own === 'string' || typeof own === 'number') ? ` ${shortId(String(own))}` : ''
  return `${wordOf(entity)}${id}: `
}

/** Both sides of what differs; personal values once somebody asks for them, which is noted. */
function Sides({ fields, row }: { readonly fields: Fields; readonly row: string }) {
  const { shown, show } = useShownRow({ table: 'reconcile_findings', row })
  const may = useMay('operator')
  const whole = typeof shown?.['fields'] === 'string' ? parsedJson(shown['fields']) : shown?.['fields']
  const told = Array.isArray(whole) ? (whole as Fields) : fields
  const isMasked = told.some(({ mirror, service }) => mirror === MASK || service === MASK)
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
          {told.map(({ field, mirror, service }) => (
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
      {isMasked && (
        <button
          type="button"
          className="plain show"
          disabled={!may}
          title={may ? undefined : 'This takes the role operator.'}
          onClick={() => void show()}
        >
          Show<span className="unseen"> both sides</span>
        </button>
      )}
    </div>
  )
}
