import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Deed, Menu } from '../../parts/menu.tsx'
import { useMay } from '../../session/session.ts'
import { MapDialog } from './map-dialog.tsx'

interface Of {
  readonly account: string
  readonly id: string
  readonly insured: string | null
  /** Whether a destination asks which client of the AMS it belongs to. */
  readonly needsClient: boolean
}

/** What an operator can do with one submission. */
export function SubmissionActions({ account, id, insured, needsClient }: Of) {
  const [isMapping, setMapping] = useState(false)
  const navigate = useNavigate()
  const sync = (isReplay: boolean, done: string) => ({
    run: () => answered(api.POST('/api/v1/submissions/sync', { body: { account, ids: [id], replay: isReplay } })),
    done: () => done,
  })
  const read = useAction(sync(false, 'The service is asked now; the figure "Last read" tells when it has answered.'))
  const replay = useAction(sync(true, 'Both feeds are read again from the beginning; what was missed appears in the timeline.'))
  const reconcile = useAction({
    run: () => answered(api.POST('/api/v1/reconcile-runs', { body: { account, submissions: [id] } })),
    done: () => 'A reconcile run of this submission was queued; it is shown under Reconcile.',
  })
  const open = (run: string | undefined) => run && void navigate({ to: '/reconcile/$run_id', params: { run_id: run } })
  const role = useMay('operator') ? undefined : 'This takes the role operator.'
  return (
    <div className="actions">
      <Button needs="operator" isSmall kind="primary" isBusy={read.isPending} onClick={() => read.mutate()}>
        Read now
      </Button>
      <Menu label="More">
        <Deed
          name="Replay feeds"
          says="Reads events and messages again from the beginning, and adds what was missed."
          not={role}
          onDo={() => replay.mutate()}
        />
        <Deed
          name="Reconcile"
          says="Compares everything with the service, corrects what differs, and reports it."
          not={role}
          onDo={() => reconcile.mutate(undefined, { onSuccess: ({ items }) => open(items[0]?.run_id) })}
        />
        <Deed
          name="Map to client…"
          says="Tells a destination which client of the AMS this is."
          not={role ?? (needsClient ? undefined : 'No destination asks for a client.')}
          onDo={() => setMapping(true)}
        />
      </Menu>
      {isMapping && <MapDialog account={account} id={id} insured={insured} onClose={() => setMapping(false)} />}
    </div>
  )
}
