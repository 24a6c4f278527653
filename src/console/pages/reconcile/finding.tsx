import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { parsedJson } from '../../parts/json.tsx'
import { MASK, textOf, useShownRow } from '../../parts/masked.tsx'
import { useMay } from '../../session/session.ts'
import { SubmissionOf } from '../deliveries/deliveries.tsx'

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
        {f.detail} <SubmissionOf account={f.account} submission_id={f.submission_id} />
      </span>
      {state}
      {f.fields && f.fields.length > 0 && <Sides fields={f.fields} row={f.row_key} />}
    </li>
  )
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
              <td className="mono">{field}</td>
              <td>
                <del>{textOf(mirror)}</del>
              </td>
              <td>
                <ins>{textOf(service)}</ins>
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
