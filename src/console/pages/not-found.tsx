import { Link } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'

/** For an address that is no view, or names something that the mirror does not hold. */
export function NotFound() {
  return (
    <Page title="Not found">
      <p>
        The mirror has nothing under this address. <Link to="/">Back to the overview</Link>
      </p>
    </Page>
  )
}
