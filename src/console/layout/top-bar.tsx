import { useQuery } from '@tanstack/react-query'
import { ChevronDown, LogOut, Monitor, Moon, Search, Sun, User } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { useConnection } from '../api/connection.ts'
import { useIsLive } from '../api/live.ts'
import { overviewQuery, sessionQuery } from '../api/queries.ts'
import { clockTime } from '../parts/time.tsx'
import { useSignOut } from '../session/session.ts'
import { AccountSwitch } from './account-switch.tsx'
import { Saying } from './saying.tsx'
import { setTheme, type Theme, themes, useTheme } from './theme.ts'

/** What is fixed above every page: search, what was done last, whether what is shown is live, and who is signed in. */
export function TopBar({ onPalette }: { readonly onPalette: () => void }) {
  return (
    <header className="top-bar">
      <AccountSwitch />
      <button type="button" className="search-button" onClick={onPalette}>
        <Search aria-hidden="true" />
        <span>Find or do</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Saying />
      <LiveMark />
      <Who />
    </header>
  )
}

function LiveMark() {
  const { answeredAt, isLost } = useConnection()
  const { data } = useQuery(overviewQuery)
  const isLive = useIsLive()
  if (isLost) {
    return <span className="live lost">{answeredAt === null ? 'No connection' : `as of ${clockTime(answeredAt)}, connection lost`}</span>
  }
  if (data && !data.served) return <span className="live unserved">No process is running</span>
  if (isLive) return <span className="live on">Live</span>
  return (
    <span className="live asking" title="Events do not arrive; what is shown is asked for every few seconds.">
      Every 5 s
    </span>
  )
}

const looks: Readonly<Record<Theme, { readonly icon: typeof Sun; readonly name: string }>> = {
  system: { icon: Monitor, name: 'As the system' },
  light: { icon: Sun, name: 'Light' },
  dark: { icon: Moon, name: 'Dark' },
}

function Who() {
  const { data: session } = useQuery(sessionQuery)
  const theme = useTheme()
  const signOut = useSignOut()
  if (!session) return null
  return (
    // Not modal: the page behind it may be scrolled, and no style is added to it for that.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="who" aria-label={`Signed in as ${session.name}, ${session.role}`}>
        <User aria-hidden="true" />
        <span>{session.name}</span>
        <ChevronDown aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={document.querySelector<HTMLElement>('.top-bar')}>
        <DropdownMenu.Content className="menu" align="end" sideOffset={6}>
          <DropdownMenu.Label>
            {session.name} · {session.role}
          </DropdownMenu.Label>
          <DropdownMenu.Separator />
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => setTheme(themes.find((each) => each === value) ?? 'system')}>
            {themes.map((each) => {
              const { icon: Icon, name } = looks[each]
              return (
                <DropdownMenu.RadioItem key={each} value={each}>
                  <Icon aria-hidden="true" />
                  {name}
                </DropdownMenu.RadioItem>
              )
            })}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator />
          <DropdownMenu.Item onSelect={() => void signOut()}>
            <LogOut aria-hidden="true" />
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
