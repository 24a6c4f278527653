import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useAction } from '../../api/action.ts'
import { api, unwrap } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { shortId } from '../../parts/id.tsx'
import { Modal } from '../../parts/modal.tsx'

interface MapProps {
  readonly of: { readonly account: string; readonly submission_id: string; readonly insured_name: string | null }
  /** Name of the destination. If undefined, the user chooses among the destinations that need a client. */
  readonly at?: string
  readonly onClose: () => void
}

/**
 * Dialog that maps a submission to a client. The title names the insured, because a wrong client would receive the data
 * of another insured.
 */
export function MapDialog({ of: { account, submission_id: id, insured_name }, at, onClose }: MapProps) {
  const { data } = useQuery(destinationsQuery)
  const choice = useId()
  const whose = insured_name || shortId(id)
  const map = useAction({
    run: (given: { destination: string; client: string; policy: string }) => {
      const { destination: name, client, policy } = given
      const rows = [{ account, submission_id: id, client, ...(policy && { policy }) }]
      return unwrap(api.POST('/api/v1/destinations/{name}/mappings', { params: { path: { name } }, body: { rows } }))
    },
    done: (_, { destination, client }) => `${whose} mapped to ${client} at ${destination}. Changes no longer wait for a client.`,
  })
  const mapTo = (text: (name: string) => string) =>
    map.mutate({ destination: text('destination'), client: text('client'), policy: text('policy') }, { onSuccess: onClose })
  const needing = data?.items.filter(({ mapping }) => mapping === 'required' || mapping === 'lookup') ?? []
  const names = at === undefined ? needing.map(({ destination }) => destination) : [at]
  return (
    <Modal title={`Map to a client: ${whose}`} onClose={onClose}>
      <Form onSubmit={({ text }) => mapTo(text)}>
        <p className="quiet">
          Submission <span title={id}>{shortId(id)}</span> of account {account}. Its waiting changes will be sent to this client.
        </p>
        {data !== undefined && names.length === 0 && (
          <p>
            No destination requires a client. See <code>config/destinations.md</code>.
          </p>
        )}
        <label htmlFor={choice}>Destination</label>
        <select id={choice} name="destination" required>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <Field label="Client" name="client" required maxLength={500} placeholder="Client id in the AMS, such as C-2001" />
        <Field label="Policy id in the AMS (optional)" name="policy" maxLength={500} />
        {map.error && <p role="alert">{map.error.message}</p>}
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={map.isPending} disabled={names.length === 0}>
            Map submission
          </Button>
        </div>
      </Form>
    </Modal>
  )
}
