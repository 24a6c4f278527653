import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { textOf } from '../../parts/masked.tsx'
import { SubmissionOf } from '../deliveries/deliveries.tsx'

/** One difference, with both sides. */
export function Finding({ finding: f }: { readonly finding: Schemas['ReconcileFinding'] }) {
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
      {f.fields && f.fields.length > 0 && (
        <div className="table-room">
          <table className="sides">
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Mirror</th>
                <th scope="col">Service</th>
              </tr>
            </thead>
            <tbody>
              {f.fields.map(({ field, mirror, service }) => (
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
        </div>
      )}
    </li>
  )
}
