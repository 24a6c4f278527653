import { Link, Outlet } from '@tanstack/react-router'
import { useLive } from '../api/live.ts'
import { useKeys } from './keys.tsx'
import { Logo } from './logo.tsx'
import { places } from './navigation.ts'
import { TopBar } from './top-bar.tsx'

/** What stands around every page. */
export function Shell() {
  const keys = useKeys()
  useLive()
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <nav className="rail" aria-label="Main">
        <Link to="/" className="rail-logo" aria-label="submission-mirror">
          <Logo />
        </Link>
        <ul>
          {places.map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }} title={name}>
                <Icon aria-hidden="true" />
                <span>{name}</span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <TopBar onPalette={keys.openPalette} />
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
      {keys.dialogs}
    </div>
  )
}
