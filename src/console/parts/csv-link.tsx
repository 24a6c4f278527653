import { Download } from 'lucide-react'

interface CsvLinkProps {
  readonly path: `/api/v1/${string}`
  readonly filter: Readonly<Record<string, unknown>>
  readonly of: string
}

/**
 * Link that downloads a list as CSV: all rows that match the filters.
 * @param path path of the list in the API, without `.csv`.
 * @param of name of the list, for screen readers.
 */
export function CsvLink({ path, filter, of }: CsvLinkProps) {
  const given = Object.entries(filter).flatMap(([name, value]): [string, string][] => (value ? [[name, String(value)]] : []))
  const query = new URLSearchParams(given).toString()
  return (
    <a
      className="button"
      href={`${path}.csv${query && `?${query}`}`}
      download=""
      aria-label={`${of} as CSV`}
      title="Download all rows of this list"
    >
      <Download aria-hidden="true" /> CSV
    </a>
  )
}
