import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { ArrowRight, Bell, FileText, Inbox, LogOut, type LucideIcon, RefreshCw, Send, Wrench } from 'lucide-react'
import type { Role, Schemas } from '../api/client.ts'
import { destinationsQuery, sessionQuery } from '../api/queries.ts'
import { useSignOut } from '../session/session.ts'
import { startLater } from './pending-action.ts'
import { type OperationsSection, operationsSections } from './sections.ts'

/** Something that can be named from anywhere. */
interface PaletteAction {
  readonly name: string
  readonly icon: LucideIcon
  readonly needs: Role
  readonly run: () => void
  /** Other words that find it. */
  readonly words?: readonly string[]
}

/** Actions that belong to no page, or to another one than is shown; those alone that the role may do. */
export function PaletteActions({ onClose }: { readonly onClose: () => void }) {
  const { data: session } = useQuery(sessionQuery)
  const { data: destinations } = useQuery(destinationsQuery)
  const general = useGeneralActions()
  const actionsOf = useDestinationActions()
  const actions = [...general, ...(destinations?.items ?? []).flatMap(actionsOf)]
  return (
    <Command.Group heading="Actions">
      {actions
        .filter(({ needs }) => session?.may.includes(needs))
        .map(({ name, icon: Icon, run, words }) => (
          <Command.Item
            key={name}
            value={name}
            keywords={[...(words ?? [])]}
            onSelect={() => {
              onClose()
              run()
            }}
          >
            <Icon aria-hidden="true" />
            {name}
          </Command.Item>
        ))}
    </Command.Group>
  )
}

function useGeneralActions(): readonly PaletteAction[] {
  const navigate = useNavigate()
  const signOut = useSignOut()
  const section = (hash: OperationsSection['id']) => void navigate({ to: '/operations', hash })
  return [
    {
      name: 'Go to Reconcile, to start a run',
      icon: ArrowRight,
      needs: 'operator',
      words: ['prove', 'check', 'sync'],
      run: () => void navigate({ to: '/reconcile' }),
    },
    {
      name: 'Choose a submission, to read it now',
      icon: ArrowRight,
      needs: 'operator',
      words: ['sync', 'replay feeds'],
      run: () => void navigate({ to: '/submissions' }),
    },
    {
      name: 'Show dead deliveries, to replay them',
      icon: Inbox,
      needs: 'operator',
      words: ['retry', 'inbox', 'given up'],
      run: () => void navigate({ to: '/deliveries', search: { tab: 'dead' } }),
    },
    {
      name: 'Show failed documents',
      icon: FileText,
      needs: 'viewer',
      words: ['files', 'fetch'],
      run: () => void navigate({ to: '/documents' }),
    },
    { name: 'Acknowledge an alarm', icon: Bell, needs: 'operator', run: () => section('alarms') },
    { name: 'Resume an account', icon: RefreshCw, needs: 'operator', run: () => section('accounts') },
    {
      name: 'Run the doctor',
      icon: Wrench,
      needs: 'admin',
      words: ['check', 'diagnose'],
      run: () => {
        startLater('doctor')
        section('upkeep')
      },
    },
    {
      name: 'Back up',
      icon: Wrench,
      needs: 'admin',
      words: ['make a backup', 'copy'],
      run: () => {
        startLater('backup')
        section('upkeep')
      },
    },
    ...operationsSections.map(
      ({ id, name }): PaletteAction => ({ name, icon: ArrowRight, needs: 'viewer', words: ['operations'], run: () => section(id) }),
    ),
    { name: 'Sign out', icon: LogOut, needs: 'viewer', words: ['log out', 'leave'], run: () => void signOut() },
  ]
}

/** What is done on the page of a destination leads there, where its state is seen before it is done. */
function useDestinationActions(): (destination: Schemas['Destination']) => readonly PaletteAction[] {
  const navigate = useNavigate()
  return ({ destination: name, state, dead }) => {
    const run = () => void navigate({ to: '/destinations/$name', params: { name } })
    const actionNamed = (text: string): PaletteAction => ({ name: text, icon: Send, needs: 'operator', run })
    const isStopped = state !== null && state !== 'active'
    return [
      { name: `Open destination ${name}`, icon: Send, needs: 'viewer', run },
      actionNamed(`${isStopped ? 'Resume' : 'Pause'} destination ${name}`),
      actionNamed(`Test destination ${name}`),
      ...(dead > 0 ? [actionNamed(`Retry dead changes of destination ${name}`)] : []),
    ]
  }
}
