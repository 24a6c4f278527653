import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { ArrowRight, Bell, FileText, Inbox, ListChecks, LogOut, type LucideIcon, RefreshCw, Send, Wrench } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Role, Schemas } from '../api/client.ts'
import { destinationsQuery, sessionQuery } from '../api/queries.ts'
import { useSignOut } from '../session/session.ts'
import { type OperationsSection, operationsSections, type PageLink } from './navigation.ts'
import { type PendingAction, startLater } from './pending-action.ts'

interface PaletteAction {
  readonly name: string
  readonly icon: LucideIcon
  readonly requires: Role
  readonly run: () => void
  readonly keywords?: readonly string[]
}

interface ChoiceProps {
  readonly value: string
  readonly icon: LucideIcon
  readonly keywords?: readonly string[] | undefined
  readonly onClose: () => void
  readonly onChoose: () => void
  readonly children: ReactNode
}

/** An item of the command palette. If the user chooses it, the palette closes and `onChoose` runs. */
export function Choice({ value, icon: Icon, keywords = [], onClose, onChoose, children }: ChoiceProps) {
  const choose = () => {
    onClose()
    onChoose()
  }
  return (
    <Command.Item value={value} keywords={[...keywords]} onSelect={choose}>
      <Icon aria-hidden="true" />
      {children}
    </Command.Item>
  )
}

/** Palette items for actions on other pages. Shows only actions that the user's role permits. */
export function PaletteActions({ onClose }: { readonly onClose: () => void }) {
  const { data: session } = useQuery(sessionQuery)
  const { data: destinations } = useQuery(destinationsQuery)
  const general = useGeneralActions()
  const actionsOf = useDestinationActions()
  const actions = [...general, ...(destinations?.items ?? []).flatMap(actionsOf)]
  return (
    <Command.Group heading="Actions">
      {actions
        .filter(({ requires }) => session?.may.includes(requires))
        .map(({ name, icon, run, keywords }) => (
          <Choice key={name} value={name} icon={icon} keywords={keywords} onClose={onClose} onChoose={run}>
            {name}
          </Choice>
        ))}
    </Command.Group>
  )
}

function useGeneralActions(): readonly PaletteAction[] {
  const navigate = useNavigate()
  const signOut = useSignOut()
  const go = (to: PageLink['to']) => void navigate({ to })
  const showDead = () => void navigate({ to: '/deliveries', search: { tab: 'dead' } })
  const section = (hash: OperationsSection['id']) => void navigate({ to: '/operations', hash })
  const upkeep = (action: PendingAction) => {
    startLater(action)
    section('upkeep')
  }
  return [
    { name: 'Start a reconcile run…', icon: ListChecks, requires: 'operator', keywords: ['verify', 'check'], run: () => go('/reconcile') },
    { name: 'Sync a submission…', icon: RefreshCw, requires: 'operator', keywords: ['read', 'feeds'], run: () => go('/submissions') },
    { name: 'Replay dead deliveries…', icon: Inbox, requires: 'operator', keywords: ['retry', 'inbox'], run: showDead },
    { name: 'Show failed documents', icon: FileText, requires: 'viewer', keywords: ['files', 'fetch'], run: () => go('/documents') },
    { name: 'Acknowledge an alarm', icon: Bell, requires: 'operator', run: () => section('alarms') },
    { name: 'Resume an account', icon: RefreshCw, requires: 'operator', run: () => section('accounts') },
    { name: 'Run doctor', icon: Wrench, requires: 'admin', keywords: ['check', 'diagnose'], run: () => upkeep('doctor') },
    { name: 'Back up', icon: Wrench, requires: 'admin', keywords: ['make a backup', 'copy'], run: () => upkeep('backup') },
    ...operationsSections.map(
      ({ id, name }): PaletteAction => ({ name, icon: ArrowRight, requires: 'viewer', keywords: ['operations'], run: () => section(id) }),
    ),
    { name: 'Sign out', icon: LogOut, requires: 'viewer', keywords: ['log out'], run: () => void signOut() },
  ]
}

/**
 * @returns a function that lists palette items for a destination. Each item only opens the destination's page, because
 * the user should see the destination's state before acting.
 */
function useDestinationActions(): (destination: Schemas['Destination']) => readonly PaletteAction[] {
  const navigate = useNavigate()
  return ({ destination: name, state, dead }) => {
    const run = () => void navigate({ to: '/destinations/$name', params: { name } })
    const actionNamed = (text: string): PaletteAction => ({ name: text, icon: Send, requires: 'operator', run })
    const isStopped = state !== null && state !== 'active'
    return [
      { name: `Open destination ${name}`, icon: Send, requires: 'viewer', run },
      actionNamed(`${isStopped ? 'Resume' : 'Pause'} destination ${name}`),
      actionNamed(`Test destination ${name}`),
      ...(dead > 0 ? [actionNamed(`Retry dead changes of destination ${name}`)] : []),
    ]
  }
}
