import { Download } from 'lucide-react'

interface CsvLinkProps {
  /** Of the list, without `.csv`. */
  readonly path: `/api/v1/${string}`
  /** What narrows the list. */
  readonly filter: Readonly<Record<string, unknown>>
  /** Of what it is, for whoever does not see the list. */
  readonly of: string
}

/** All rows that the filters of a list find, as a file for a spreadsheet. */
export function CsvLink({ path, filter, of }: CsvLinkProps) {
  const given = Object.entries(filter).flatMap(([name, value]): [string, string][] => (value ? [[name, String(value)]] : []))
  const query = new URLSearchParams(given).toString()
  return (
    <a className="button" href={`${path}.csv${query && `?${query}`}`} download="" aria-label={`${of} as CSV`} title="All rows of this list">
      <Download aria-hidden="true" /> CSV
    </a>
  )
}
