import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId } from 'react'
import { presenceText, wordOf } from '../../../ops/output/words.ts'
import { announce } from '../../api/announce.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { Modal } from '../../parts/modal.tsx'
import { count, counted } from '../../parts/numbers.ts'

type Verified = Schemas['DestinationVerified']
type Asked = { readonly sample: number; readonly repair: boolean }

interface VerifyProps {
  readonly destination: string
  readonly onClose: () => void
}

/** Changes of an answer that are listed. */
const LISTED = 20

/** Asks the target for what it took, and sends again what it lacks. */
export function VerifyDialog({ destination: name, onClose }: VerifyProps) {
  const fields = useId()
  const client = useQueryClient()
  const verify = useMutation<Verified, Error, Asked>({
    mutationFn: (body) => answered(api.POST('/api/v1/destinations/{name}/verify', { params: { path: { name } }, body })),
    onSuccess: ({ repaired }) => void (repaired > 0 && announce(`${counted(repaired, 'change')} queued for ${name} again.`)),
    onSettled: () => client.invalidateQueries(),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    verify.mutate({ sample: Number(form.get('sample')), repair: form.has('repair') })
  }
  return (
    <Modal title={`Verify ${name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p className="quiet">
          Asks {name} whether it has changes that it took, at its rate. For all of them: submission-mirror destination verify.
        </p>
        <label htmlFor={`${fields}s`}>Changes, chosen by chance</label>
        <input id={`${fields}s`} name="sample" type="number" min={1} max={500} defaultValue={100} required />
        <label className="check" htmlFor={`${fields}r`}>
          <input id={`${fields}r`} name="repair" type="checkbox" /> Send again what it lacks, under the same ids
        </label>
        {verify.error && <p role="alert">{verify.error.message}</p>}
        <div role="status">
          {verify.isPending && <p>Asking…</p>}
          {verify.data && <Answer destination={name} verified={verify.data} />}
        </div>
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" className="button primary" disabled={verify.isPending}>
            Verify
          </button>
        </div>
      </form>
    </Modal>
  )
}

function Answer({ destination, verified }: { readonly destination: string; readonly verified: Verified }) {
  const { changes, complete, repaired } = verified
  return (
    <>
      <p>
        {destination} {presenceText(verified)}.{repaired > 0 && ` ${counted(repaired, 'change')} queued once more.`}
        {!complete && ' It stopped answering before it was asked for all.'}
      </p>
      {changes.length > 0 && (
        <ul className="lines">
          {changes.slice(0, LISTED).map(({ message_id, result, entity, operation, seq, error, repaired: isRepaired }) => (
            <li key={message_id}>
              <span>
                {wordOf(result)}: {entity}.{operation} · {seq}
              </span>
              <span className="quiet">{isRepaired ? 'queued once more' : error}</span>
            </li>
          ))}
        </ul>
      )}
      {changes.length > LISTED && <p className="quiet">And {count(changes.length - LISTED)} more.</p>}
    </>
  )
}
