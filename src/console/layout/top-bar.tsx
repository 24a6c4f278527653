import { useQuery } from '@tanstack/react-query'
import { ChevronDown, LogOut, Monitor, Moon, Search, Sun, User, X } from 'lucide-react'
import { useEffect } from 'react'
import { clearMessage, statusMessage } from '../api/announce.ts'
import { connection } from '../api/connection.ts'
import { overviewQuery, sessionQuery } from '../api/queries.ts'
import { useStore } from '../api/store.ts'
import { Choice } from '../parts/fields.tsx'
import { Menu } from '../parts/menu.tsx'
import { clockTime } from '../parts/time.tsx'
import { useSignOut } from '../session/session.ts'
import { useAddress } from './search.ts'
import { setTheme, type Theme, theme, themes } from './theme.ts'

const SHOWN_MS = 12_000

export function TopBar({ onPalette }: { readonly onPalette: () => void }) {
  return (
    <header className="top-bar line">
      <AccountSwitch />
      <button type="button" className="search-button line table-text quiet" onClick={onPalette}>
        <Search aria-hidden="true" />
        <span>Search and actions</span>
        <kbd>Ctrl K</kbd>
      </button>
      <StatusMessage />
      <LiveMark />
      <UserMenu />
    </header>
  )
}

/** Field to choose the account that all pages show. Hidden if there is only one account and the address names none. */
function AccountSwitch() {
  const [search, set] = useAddress()
  const { data: overview } = useQuery(overviewQuery)
  const { account: chosen = '' } = search
  const known = overview?.accounts.map(({ account }) => account) ?? []
  if (known.length < 2 && chosen === '') return null
  const accounts = chosen === '' || known.includes(chosen) ? known : [...known, chosen]
  return (
    <div className="account-switch">
      <Choice
        label="Account"
        all="All accounts"
        value={chosen}
        options={accounts.map((each) => [each, each])}
        onChange={(account) => set({ account })}
      />
    </div>
  )
}

/**
 * Shows the result of the last action. The element exists even without a message. Otherwise screen readers wouldn't
 * announce the next message.
 */
function StatusMessage() {
  const message = useStore(statusMessage)
  useEffect(() => {
    if (message === null || message.isError) return
    const timer = setTimeout(clearMessage, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [message])
  return (
    <div className={`status-message${message === null ? '' : message.isError ? ' line table-text shown error' : ' line table-text shown'}`}>
      <div role="status">{message && <span key={message.id}>{message.text}</span>}</div>
      {message && (
        <button type="button" className="plain" aria-label="Close message" onClick={clearMessage}>
          <X aria-hidden="true" />
        </button>
      )}
    </div>
  )
}

function LiveMark() {
  const { answeredAt, isLost } = useStore(connection)
  const { data } = useQuery(overviewQuery)
  if (isLost) {
    return (
      <span className="live inline table-text lost">
        {answeredAt === null ? 'No connection' : `Connection lost, data from ${clockTime(answeredAt)}`}
      </span>
    )
  }
  if (data && !data.served) return <span className="live inline table-text lost">No process is running</span>
  return (
    <span className="live inline table-text quiet" title="Updates every 2 s">
      Live
    </span>
  )
}

const looks: Readonly<Record<Theme, { readonly icon: typeof Sun; readonly name: string }>> = {
  system: { icon: Monitor, name: 'Same as system' },
  light: { icon: Sun, name: 'Light' },
  dark: { icon: Moon, name: 'Dark' },
}

function UserMenu() {
  const { data: session } = useQuery(sessionQuery)
  const chosen = useStore(theme)
  const signOut = useSignOut()
  if (!session) return null
  const who = (
    <>
      <User aria-hidden="true" />
      <span>{session.name}</span>
      <ChevronDown aria-hidden="true" />
    </>
  )
  return (
    <Menu className="who line table-text" label={who} name={`Signed in as ${session.name}, ${session.role}`}>
      <p className="quiet">
        {session.name} · {session.role}
      </p>
      <hr />
      {themes.map((each) => {
        const { icon: Icon, name } = looks[each]
        return (
          <button key={each} type="button" className="line" aria-pressed={each === chosen} onClick={() => setTheme(each)}>
            <Icon aria-hidden="true" />
            {name}
          </button>
        )
      })}
      <hr />
      <button type="button" className="line" onClick={() => void signOut()}>
        <LogOut aria-hidden="true" />
        Sign out
      </button>
    </Menu>
  )
}
