import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { answered, api, type Schemas } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/fields.tsx'
import { Json, parsedJson } from '../../parts/json.tsx'
import { Modal } from '../../parts/modal.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { SubmissionChoice } from './submission-choice.tsx'

type Change = Schemas['PreviewedChange']
type Preview = Pick<Schemas['DestinationPreview'], 'items'>
/** One change by its number, or the newest of a submission. */
type Which = { readonly seq: number } | { readonly submission_id: string }

/** Asks for requests as they would be sent. Who asked is noted, so nothing asks again by itself. */
function useLook(name: string) {
  return useMutation<Preview, Error, Which>({
    mutationFn: (which) => answered(api.POST('/api/v1/destinations/{name}/preview', { params: { path: { name } }, body: { ...which } })),
  })
}

interface PreviewDialogProps {
  readonly destination: string
  readonly onClose: () => void
}

/** Shows the requests that a destination would be sent of one change, or of the newest ones of a submission. */
export function PreviewDialog({ destination, onClose }: PreviewDialogProps) {
  const field = useId()
  const look = useLook(destination)
  const [isUnsaid, setUnsaid] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [seq, submission_id] = [Number(form.get('seq')), String(form.get('submission') ?? '').trim()]
    setUnsaid(seq === 0 && submission_id === '')
    if (seq > 0) look.mutate({ seq })
    else if (submission_id !== '') look.mutate({ submission_id })
  }
  return (
    <Modal title={`Preview request to ${destination}`} onClose={onClose} className="large">
      <form className="form" onSubmit={submit} onChange={look.reset}>
        <p className="quiet">Shows the request as it would be sent now. Nothing is sent.</p>
        <label htmlFor={field}>Change by number</label>
        <input id={field} name="seq" placeholder="Seq" pattern="[1-9]\d*" inputMode="numeric" autoComplete="off" />
        <span>Or the newest changes of a submission</span>
        <SubmissionChoice name="submission" onChange={look.reset} />
        {isUnsaid && <p role="alert">Give the number of a change, or choose a submission.</p>}
        <div className="actions">
          <button type="submit" className="button primary">
            Preview request
          </button>
        </div>
      </form>
      <Requests destination={destination} look={look} />
    </Modal>
  )
}

/** The request of one change, once it is asked for: who looked at it is noted. */
export function ChangePreview({ destination, seq }: { readonly destination: string; readonly seq: number }) {
  const look = useLook(destination)
  if (!look.isIdle) return <Requests destination={destination} look={look} />
  return (
    <Button needs="operator" isSmall onClick={() => look.mutate({ seq })}>
      Preview request
    </Button>
  )
}

function Requests({ destination, look }: { readonly destination: string; readonly look: ReturnType<typeof useLook> }) {
  if (look.isIdle) return null
  if (look.error) return <Failed error={look.error} />
  if (look.data === undefined) return <Loading rows={4} />
  if (look.data.items.length === 0) return <Empty>The change log has no such change for {destination}.</Empty>
  return (
    <ol className="previews" aria-label={`Requests to ${destination}`}>
      {look.data.items.map((change) => (
        <li key={change.message_id}>
          <Shown change={change} />
        </li>
      ))}
    </ol>
  )
}

/** A request, or in its place why there is none: the template that failed, or what keeps the change from being sent. */
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
      <Facts
        items={Object.entries(headers).map(([name, value]) => [
          name,
          <span key={name} className="mono">
            {value}
          </span>,
        ])}
      />
      {body !== null && <Body text={body} />}
    </>
  )
}

function Body({ text }: { readonly text: string }) {
  const value = parsedJson(text)
  return typeof value === 'string' ? <pre className="json">{text}</pre> : <Json value={value} />
}
