import { Link, Outlet } from '@tanstack/react-router'
import { useKeys } from './keys.tsx'
import { Logo } from './logo.tsx'
import { pageLinks } from './navigation.ts'
import { TopBar } from './top-bar.tsx'

export function Shell() {
  const keys = useKeys()
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <nav className="rail" aria-label="Main">
        <Link to="/" className="rail-logo line" aria-label="submission-mirror">
          <Logo />
        </Link>
        <ul>
          {pageLinks.map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link to={to} className="line" activeOptions={{ exact: to === '/', includeSearch: false }} title={name}>
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
      {keys.palette}
    </div>
  )
}
