import { Link } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'

/** For an unknown address or record. */
export function NotFound() {
  return (
    <Page title="Not found">
      <p>
        Nothing was found at this address. <Link to="/">Back to the overview</Link>
      </p>
    </Page>
  )
}
