import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/fields.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Json, parseJson } from '../../parts/json.tsx'
import { Modal } from '../../parts/modal.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { SubmissionChoice } from './submission-choice.tsx'

type Change = Schemas['PreviewedChange']
type Preview = Pick<Schemas['DestinationPreview'], 'items'>
/** What to preview: one change, or the newest changes of a submission. */
type Selection = { readonly seq: number } | { readonly submission_id: string }

/**
 * Returns a mutation that fetches a preview. A query would be fetched again automatically, and each preview adds an
 * entry to the audit log.
 */
function usePreview(name: string) {
  return useMutation<Preview, Error, Selection>({
    mutationFn: (which) => unwrap(api.POST('/api/v1/destinations/{name}/preview', { params: { path: { name } }, body: { ...which } })),
  })
}

interface PreviewDialogProps {
  readonly destination: string
  readonly onClose: () => void
}

export function PreviewDialog({ destination, onClose }: PreviewDialogProps) {
  const look = usePreview(destination)
  const [isIncomplete, setIncomplete] = useState(false)
  const preview = (seq: number, submission_id: string) => {
    setIncomplete(seq === 0 && submission_id === '')
    if (seq > 0) look.mutate({ seq })
    else if (submission_id !== '') look.mutate({ submission_id })
  }
  return (
    <Modal title={`Preview request to ${destination}`} onClose={onClose} className="large">
      <Form onSubmit={({ text }) => preview(Number(text('seq')), text('submission'))} onChange={look.reset}>
        <p className="quiet">Shows the request that would be sent now. Nothing is sent.</p>
        <Field label="Change number" name="seq" placeholder="Such as 1204" pattern="[1-9]\d*" inputMode="numeric" />
        <span>Or the newest changes of a submission</span>
        <SubmissionChoice name="submission" onChange={look.reset} />
        {isIncomplete && <p role="alert">Enter a change number or choose a submission.</p>}
        <div className="actions">
          <Button type="submit" kind="primary">
            Preview request
          </Button>
        </div>
      </Form>
      <Requests destination={destination} look={look} />
    </Modal>
  )
}

export function ChangePreview({ destination, seq }: { readonly destination: string; readonly seq: number }) {
  const look = usePreview(destination)
  if (!look.isIdle) return <Requests destination={destination} look={look} />
  return (
    <Button requires="operator" isSmall onClick={() => look.mutate({ seq })}>
      Preview request
    </Button>
  )
}

function Requests({ destination, look }: { readonly destination: string; readonly look: ReturnType<typeof usePreview> }) {
  if (look.isIdle) return null
  if (look.error) return <Failed error={look.error} />
  if (look.data === undefined) return <Loading rows={4} />
  if (look.data.items.length === 0) return <Empty>The change log has no such change for {destination}.</Empty>
  return (
    <ol className="previews stack" aria-label={`Requests to ${destination}`}>
      {look.data.items.map((change) => (
        <li key={change.message_id}>
          <Shown change={change} />
        </li>
      ))}
    </ol>
  )
}

/**
 * Shows the request that would be sent for a change. If no request would be sent, shows the reason, such as a filter,
 * or an error of the template.
 */
function Shown({ change }: { readonly change: Change }) {
  const { seq, entity, operation, request, not_sent, error } = change
  return (
    <>
      <h3>
        Change {seq}, {entity}.{operation}
      </h3>
      {not_sent !== null && <p className="quiet">{not_sent}</p>}
      {error !== null && (
        <p role="alert" className="bad whole-text">
          {error}
        </p>
      )}
      {request !== null && <ShownRequest request={request} />}
      {request?.upload && <ShownRequest request={request.upload} />}
    </>
  )
}

function ShownRequest({ request }: { readonly request: Omit<NonNullable<Change['request']>, 'upload'> }) {
  const { method, url, headers, body } = request
  return (
    <>
      <p className="mono whole-text">
        {method} {url}
      </p>
      <Facts items={Object.entries(headers)} isMono />
      {body !== null && <Body text={body} />}
    </>
  )
}

function Body({ text }: { readonly text: string }) {
  const value = parseJson(text)
  return typeof value === 'string' ? <pre className="json">{text}</pre> : <Json value={value} />
}
