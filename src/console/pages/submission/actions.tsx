import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { MapDialog } from './map-dialog.tsx'

interface Of {
  readonly account: string
  readonly id: string
  readonly insured: string | null
}

/** What an operator can do with one submission. */
export function SubmissionActions({ account, id, insured }: Of) {
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
  return (
    <div className="actions">
      <Button needs="operator" isSmall isBusy={read.isPending} onClick={() => read.mutate()}>
        Read now
      </Button>
      <Button needs="operator" isSmall isBusy={replay.isPending} onClick={() => replay.mutate()}>
        Replay feeds
      </Button>
      <Button
        needs="operator"
        isSmall
        isBusy={reconcile.isPending}
        onClick={() => reconcile.mutate(undefined, { onSuccess: ({ items }) => open(items[0]?.run_id) })}
      >
        Reconcile
      </Button>
      <Button needs="operator" isSmall onClick={() => setMapping(true)}>
        Map to client…
      </Button>
      {isMapping && <MapDialog account={account} id={id} insured={insured} onClose={() => setMapping(false)} />}
    </div>
  )
}
