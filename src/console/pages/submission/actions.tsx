import { useNavigate } from '@tanstack/react-router'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { useAddress } from '../../layout/search.ts'
import { ActionButton, requiresRole } from '../../parts/button.tsx'
import { Menu, MenuAction } from '../../parts/menu.tsx'
import { useMay } from '../../session/session.ts'
import { MapDialog } from './map-dialog.tsx'

interface SubmissionActionsProps {
  readonly of: Schemas['SubmissionItem']
  /** Whether a destination needs to know which AMS client the submission belongs to. */
  readonly needsClient: boolean
}

const MORE = (
  <>
    More <ChevronDown aria-hidden="true" />
  </>
)

export function SubmissionActions({ of, needsClient }: SubmissionActionsProps) {
  const { account, submission_id: id } = of
  const [isMapping, setMapping] = useState(false)
  const navigate = useNavigate()
  const sync = (isFullRead: boolean, done: string) => ({
    run: () => unwrap(api.POST('/api/v1/submissions/sync', { body: { account, ids: [id], full_read: isFullRead } })),
    done: () => done,
  })
  const read = useAction(sync(false, 'Sync started. "Last read" shows when it has finished.'))
  const reread = useAction(sync(true, 'Full re-read of both feeds started. Missed items appear in the timeline.'))
  const reconcile = useAction({
    run: () => unwrap(api.POST('/api/v1/reconcile-runs', { body: { account, submissions: [id] } })),
    done: () => 'Reconcile run queued. See Reconcile.',
  })
  const open = (run: string | undefined) => run && void navigate({ to: '/reconcile/$run_id', params: { run_id: run } })
  const [{ at }] = useAddress()
  const until = at === undefined ? '' : `?until=${encodeURIComponent(at)}`
  const download = () => window.location.assign(`/api/v1/submissions/${encodeURIComponent(account)}/${id}/export${until}`)
  const role = useMay('operator') ? undefined : requiresRole('operator')
  return (
    <div className="actions">
      <ActionButton action={read} kind="primary">
        Sync now
      </ActionButton>
      <Menu label={MORE}>
        <MenuAction
          name="Re-read feeds"
          description="Reads all events and messages again, and adds missed ones."
          unavailable={role}
          onDo={() => reread.mutate()}
        />
        <MenuAction
          name="Reconcile"
          description="Compares the submission with the service, and repairs and reports differences."
          unavailable={role}
          onDo={() => reconcile.mutate(undefined, { onSuccess: ({ items }) => open(items[0]?.run_id) })}
        />
        <MenuAction
          name="Map to client…"
          description="Assigns the submission to a client in the AMS."
          unavailable={role ?? (needsClient ? undefined : 'No destination requires a client.')}
          onDo={() => setMapping(true)}
        />
        <MenuAction
          name="Export record"
          description="Downloads everything until the time shown, with its sources, as a ZIP file."
          unavailable={useMay('admin') ? undefined : requiresRole('admin')}
          onDo={download}
        />
      </Menu>
      {isMapping && <MapDialog of={of} onClose={() => setMapping(false)} />}
    </div>
  )
}
