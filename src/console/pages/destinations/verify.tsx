import { useMutation, useQueryClient } from '@tanstack/react-query'
import { presenceText, wordOf } from '../../../ops/output/words.ts'
import { announce } from '../../api/announce.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Check, Field, Form } from '../../parts/form.tsx'
import { Modal } from '../../parts/modal.tsx'
import { count, counted } from '../../parts/numbers.ts'

type Verified = Schemas['DestinationVerified']
type Request = { readonly sample: number; readonly repair: boolean }

interface VerifyProps {
  readonly destination: string
  readonly onClose: () => void
}

const LISTED = 20

/** Dialog that asks the destination which changes it has. Can also send missing changes again. */
export function VerifyDialog({ destination: name, onClose }: VerifyProps) {
  const client = useQueryClient()
  const verify = useMutation<Verified, Error, Request>({
    mutationFn: (body) => unwrap(api.POST('/api/v1/destinations/{name}/verify', { params: { path: { name } }, body })),
    onSuccess: ({ repaired }) => void (repaired > 0 && announce(`${counted(repaired, 'change')} queued for ${name}.`)),
    onSettled: () => client.invalidateQueries(),
  })
  return (
    <Modal title={`Verify ${name}`} onClose={onClose}>
      <Form onSubmit={({ text, has }) => verify.mutate({ sample: Number(text('sample')), repair: has('repair') })}>
        <p className="quiet">
          Asks {name} whether it has the changes it accepted. To check all changes, run <code>submission-mirror destination verify</code>.
        </p>
        <Field label="Sample size (random changes)" name="sample" type="number" min={1} max={500} defaultValue={100} required />
        <Check name="repair">Resend missing changes with the same message ids</Check>
        {verify.error && <p role="alert">{verify.error.message}</p>}
        <div role="status">
          {verify.isPending && <p>Verifying…</p>}
          {verify.data && <Answer destination={name} verified={verify.data} />}
        </div>
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind="primary" isBusy={verify.isPending}>
            Verify
          </Button>
        </div>
      </Form>
    </Modal>
  )
}

function Answer({ destination, verified }: { readonly destination: string; readonly verified: Verified }) {
  const { changes, complete, repaired } = verified
  return (
    <>
      <p>
        {destination} {presenceText(verified)}.{repaired > 0 && ` ${counted(repaired, 'change')} queued again.`}
        {!complete && ' Verification is incomplete: the destination stopped answering.'}
      </p>
      {changes.length > 0 && (
        <ul className="lines">
          {changes.slice(0, LISTED).map(({ message_id, result, entity, operation, seq, error, repaired: isRepaired }) => (
            <li key={message_id}>
              <span>
                {wordOf(result)}: {entity}.{operation} · {seq}
              </span>
              <span className="quiet">{isRepaired ? 'queued again' : error}</span>
            </li>
          ))}
        </ul>
      )}
      {changes.length > LISTED && <p className="quiet">and {count(changes.length - LISTED)} more</p>}
    </>
  )
}
