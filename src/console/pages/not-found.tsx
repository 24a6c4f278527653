import { Link } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'

/** Page for an address or record that doesn't exist. */
export function NotFound() {
  return (
    <Page title="Not found">
      <p>
        Nothing was found at this address. <Link to="/">Back to the overview</Link>
      </p>
    </Page>
  )
}
